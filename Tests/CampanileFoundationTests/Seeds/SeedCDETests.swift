import Campanile
import CampanileFoundation
import Foundation
import Testing

/// What LRNotificationObserver, GYNotificationCenter and YFLNotificationCenter get wrong, on Foundation's
/// center.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds C, D and E: the wrappers around Foundation's center", .ownThread, .bothCenters)
struct SeedCDETests {
  private let center = makeCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test(
    "C3 E6 one center is used from many threads, and from inside observers", arguments: [1, 2, 8])
  func c3(width: Int) {
    onThreads(width) { [center, queue] thread in
      let screen = Screen()
      for number in 0..<100 {
        let token = center.observe(.tick) { [weak center] _ in
          center?.observe(.tock, owner: screen) { $0.heard.record($1.number) }.cancel()
        }
        center.observe(.tick, owner: screen, on: queue.delivery) { $0.heard.record($1.number) }
        center.post(.tick, number)
        token.cancel()
        if number % 10 == 0 { center.removeObservers(ownedBy: screen) }
      }
    }
    queue.flush()
    center.post(.tick, 0)
    queue.flush()
    #expect(center.registrations.isEmpty)
  }

  @Test("D1 K1 registrations of one name are all kept, whether they differ or not")
  func d1() {
    let (bell, screen) = (Bell(), Screen())
    for _ in 0..<2 { center.observe(.tick, owner: screen) { $0.heard.record($1.number) } }
    center.notifications(of: .tick, object: bell).observe(owner: screen) {
      $0.heard.record($1.number * 10)
    }
    center.observe(.tick, owner: screen, on: queue.delivery) { $0.heard.record($1.number * 100) }
    center.post(.tick, 1, object: bell)
    queue.flush()
    #expect(screen.heard.values.sorted() == [1, 1, 10, 100])
  }

  @Test("D4 posts race with removals, and nothing comes after", arguments: [1, 2, 8])
  func d4(width: Int) {
    let late = Recorder<Int>()
    onThreads(width) { [center] _ in
      for number in 0..<200 {
        let own = Recorder<Int>()
        let isOver = Locked(false)
        let token = center.observe(.tick) {
          own.record($0.number)
          if isOver.withLock({ $0 }) { late.record($0.number) }
        }
        center.post(.tick, number)
        #expect(token.cancelAndWait() == .finished)
        isOver.withLock { $0 = true }
        center.post(.tick, number)
        #expect(own.values.contains(number))
      }
    }
    #expect(late.values.isEmpty)
  }

  @Test("D6 K16 what an observer captured may use the center as it is released")
  func d6() {
    let released = Recorder<Int>()
    func observe() -> ObservationToken {
      let cargo = OnRelease { [weak center] in
        center?.post(.tock, 1)
        center?.observe(.tock) { _ in }.cancel()
        released.record(1)
      }
      return center.observe(.tick) { [cargo] _ in cargo.touch() }
    }
    for round in 1...10 {
      let token = observe()
      center.post(.tick, 1)
      #expect(released.count == round - 1)
      token.cancel()
      #expect(released.count == round)
    }
    let token = center.observe(.tock) { [weak center, heard] _ in
      heard.record(1)
      center?.post(.tick, 1)
    }
    func removeByOwner() {
      let screen = Screen()
      let cargo = OnRelease { [weak center] in center?.post(.tock, 1) }
      center.observe(.tick, owner: screen) { [cargo] _, _ in cargo.touch() }
      center.removeObservers(ownedBy: screen)
    }
    removeByOwner()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("D7 a later post never overtakes one that is queued")
  func d7() {
    let token = center.observe(.tick, on: queue.delivery) { [heard] in heard.record($0.number) }
    queue.run {
      center.post(.tick, 1)  // inline: nothing waits
      onThread { [center] in center.post(.tick, 2) }()
      center.post(.tick, 3)  // queued behind 2
      #expect(heard.values == [1])
    }
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, 2, 3])
  }

  @Test("D9 E1 E2 E4 E5 K1 a block observer fires, filters, hears all names, and can be removed")
  func e() {
    let (bell, another) = (Bell(), makeCenter())
    let other = another.observe(.tick) { [heard] in heard.record($0.number * 100) }
    let tokens = [
      center.notifications(of: .tick, object: bell).observe { [heard] in heard.record($0.number) },
      center.observe(nil) { [heard] in heard.record($0.number * 10) },
    ]
    center.post(.tick, 1, object: bell)
    center.post(.tick, 2)
    center.post(.tock, 3)
    for token in tokens { token.cancel() }
    center.post(.tick, 4, object: bell)
    another.post(.tick, 5, object: bell)
    withExtendedLifetime(other) {}
    #expect(heard.values.sorted() == [1, 10, 20, 30, 500])
  }
}
