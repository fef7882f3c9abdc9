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
    .timeLimit(.minutes(10)))
  func noWait() {
    let token = center.add(.tick) { [log, gate] _ in
      log.record("begins")
      gate.pass()
      log.record("ends")
    }
    let wait = onThread { [center] in center.post(.tick) }
    gate.waitUntilReached()
    center.removeObserver(token)
    log.record("removed")
    center.post(.tick)
    gate.open()
    wait()
    #expect(log.values == ["begins", "removed", "ends"])
  }

  @Test(
    "K4 an observer that is to be waited for is added with `observe`, whose token can wait",
    .timeLimit(.minutes(10)))
  func wait() {
    let token = center.observe(.tick) { [log, gate] _ in
      log.record("begins")
      gate.pass()
      log.record("ends")
    }
    let wait = onThread { [center] in center.post(.tick) }
    gate.waitUntilReached()
    let canceled = onThread { [log] in
      token.cancelAndWait()
      log.record("waited")
    }
    gate.open()
    canceled()
    wait()
    center.post(.tick)
    #expect(log.values == ["begins", "ends", "waited"])
  }
}
