import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

@Suite("What the removal of an observer waits for")
struct RemovalWaitTests {
  private let center = CampanileNotificationCenter.NotificationCenter()
  private let log = Recorder<String>()
  private let gate = Gate()

  @Test(
    "K3 removal does not wait for a call that has begun, and none begins after it",
    .timeLimit(.long))
  func noWait() {
    let token = center.add(.tick) { [log, gate] _ in
      log.record("begins")
      gate.pass()
      log.record("ends")
    }
    let wait = onThread(patiently: true) { [center] in center.post(.tick) }
    gate.waitUntilReached()
    center.removeObserver(token)
    log.record("removed")
    center.post(.tick)
    gate.open()
    wait()
    #expect(log.values == ["begins", "removed", "ends"])
  }

  /// A value whose `==` and `hash(into:)` do something.
  private struct Busy: Hashable, Sendable {
    let work: @Sendable () -> Void
    static func == (one: Self, other: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) { work() }
  }

  @Test(
    "K4 decoders and the hash of values run before the post begins, and may wait for observers",
    arguments: [true, false])
  func foreignCodeWaits(isAboutValue: Bool) {
    let (victim, waits) = (Slot<ObservationToken>(), Recorder<Registration.Wait>())
    @Sendable func end() {
      if let token = victim.value { waits.record(token.cancelAndWait()) }
    }
    var kept: [Any] = []
    if isAboutValue {
      kept.append(center.add(.tick, Busy {}) { [log] _ in log.record("heard") })
    } else {
      let descriptor = NotificationDescriptor<Int>(.tick) { _ in
        end()
        return 1
      }
      kept.append(center.notifications(of: descriptor).observe { [log] _ in log.record("heard") })
    }
    victim.set(center.observe(.tick) { [log] _ in log.record("late") })
    center.post(name: .tick, object: isAboutValue ? Busy { end() } : nil)
    withExtendedLifetime(kept) {}
    #expect(waits.values.first == .finished)
    #expect(log.values == ["heard"])
  }

  @Test(
    "K4 an observer that is to be waited for is added with `observe`, whose token can wait",
    .timeLimit(.long))
  func wait() {
    let token = center.observe(.tick) { [log, gate] _ in
      log.record("begins")
      gate.pass()
      log.record("ends")
    }
    let wait = onThread(patiently: true) { [center] in center.post(.tick) }
    gate.waitUntilReached()
    let canceled = onThread(patiently: true) { [log] in
      token.cancelAndWait()
      log.record("waited")
    }
    token.registration.waitUntilWaitedFor { [log] in log.count > 1 }
    gate.open()
    canceled()
    wait()
    center.post(.tick)
    #expect(log.values == ["begins", "ends", "waited"])
  }
}
