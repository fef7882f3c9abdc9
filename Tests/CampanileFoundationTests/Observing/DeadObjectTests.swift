import Campanile
import Foundation
import Testing

@testable import CampanileFoundation

@Suite("Objects of notifications that have died", .ownThread, .bothCenters)
struct DeadObjectTests {
  private let heard = Recorder<Int>()

  /// The notifications about an object that has died since.
  private func source(
    _ center: any TestedCenter, _ name: Notification.Name?
  ) -> NotificationSource {
    center.notifications(of: name, object: Bell())
  }

  @Test(
    "A9 K9 a sequence about an object that has died is silent, and ends with the center",
    arguments: [nil, Notification.Name.tick])
  func sequence(name: Notification.Name?) async {
    func makeSequence() -> ValueSequence<PostedNotification> {
      let center = makeCenter()
      // The source keeps the center, and the sequence does not.
      let values = source(center, name).values()
      for number in 0..<100 {
        center.post(.tick, number, object: Bell())
        center.post(.tick, number)
      }
      #expect(center.registrations.count == 1)
      return values
    }
    #expect(await contents(of: makeSequence()).isEmpty)
  }

  // A post that loaded a weak reference to the object could release it last, on its thread.
  @Test("K8 K9 a post never holds the object that an observer of all names asks for")
  func lastRelease() {
    final class Fragile: Sendable {
      let home = ObjectIdentifier(ThreadMark.current)
      let strayed: Recorder<Int>
      init(_ strayed: Recorder<Int>) { self.strayed = strayed }
      deinit {
        if ObjectIdentifier(ThreadMark.current) != home { strayed.record(1) }
      }
    }
    let (center, strayed) = (makeCenter(), Recorder<Int>())
    let hasEnded = Locked<Bool>.Shared(false)
    let meeting = Meeting(of: 3)
    let waits = (0..<2).map { _ in
      onThread {
        meeting.join()
        while !hasEnded.value.withLock({ $0 }) { center.post(.tick, 0, object: Bell()) }
      }
    }
    meeting.join()
    for _ in 0..<4_000 {
      let fragile = Fragile(strayed)
      let token = center.notifications(of: nil, object: fragile).observe { _ in }
      center.post(.tock, 0)
      withExtendedLifetime(token) { _ = consume fragile }
    }
    hasEnded.value.withLock { $0 = true }
    for wait in waits { wait() }
    #expect(strayed.count == 0)
  }

  @Test(
    "K9 what was posted about an object is heard after the object's end",
    arguments: [nil, Notification.Name.tick])
  func queued(name: Notification.Name?) {
    let (center, target, heard) = (makeCenter(), ManualTarget(), Recorder<Int>())
    func observe() -> ObservationToken {
      let bell = Bell()
      let token = center.notifications(of: name, object: bell).observe(on: .target(target)) {
        heard.record($0.number)
      }
      center.post(.tick, 1, object: bell)
      return token
    }
    let token = observe()
    target.runJobs()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }
}
