import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

@Suite("What the removal of an observer waits for", .ownThread)
struct RemovalWaitTests {
  private let center = CampanileNotificationCenter.NotificationCenter()
  private let log = Recorder<String>()
  private let gate = Gate()

  @Test(
    "K3 K4 removal waits for no call that has begun; a token of `observe` can wait for it",
    arguments: [false, true])
  func begun(waits: Bool) {
    let hear = { @Sendable [log, gate] in
      log.record("begins")
      gate.pass()
      log.record("ends")
    }
    let block = waits ? nil : center.add(.tick) { _ in hear() }
    let token = waits ? center.observe(.tick) { _ in hear() } : nil
    let wait = onThread(patiently: true) { [center] in center.post(.tick) }
    gate.waitUntilReached()
    if let block {
      center.removeObserver(block)
      log.record("removed")
      center.post(.tick)
    }
    let canceled = token.map { token in
      onThread(patiently: true) { [log] in
        _ = token.cancelAndWait()
        log.record("waited")
      }
    }
    token?.registration.waitUntilWaitedFor { [log] in log.count > 1 }
    gate.open()
    canceled?()
    wait()
    center.post(.tick)
    #expect(log.values == (waits ? ["begins", "ends", "waited"] : ["begins", "removed", "ends"]))
  }

  /// A value whose hash does something.
  private struct Busy: Hashable, Sendable {
    let work: @Sendable () -> Void
    static func == (one: Self, other: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) { work() }
  }

  @Test("K4 the hash of a value runs before the post begins, and may wait for observers")
  func hashWaits() {
    let (victim, waits) = (Slot<ObservationToken>(), Recorder<Registration.Wait>())
    let token = center.add(.tick, Busy {}) { [log] _ in log.record("heard") }
    victim.set(center.observe(.tick) { [log] _ in log.record("late") })
    let value = Busy {
      if let token = victim.value { waits.record(token.cancelAndWait()) }
    }
    center.post(.tick, value)
    #expect(waits.values.first == .finished)
    #expect(log.values == ["heard"])
    center.removeObserver(token)
  }
}
