import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Removing from a Foundation center", .ownThread, .bothCenters)
struct RemovalTests {
  private let center = makeCenter()
  private let bell = Bell()
  private let screen = Screen()
  private let other = Screen()

  private func observeAll() {
    for owner in [screen, other] {
      center.observe(.tick, owner: owner) { $0.heard.record($1.number) }
      for (name, factor) in [(Notification.Name.tick, 10), (.tock, 100), (nil, 1_000)] {
        center.notifications(of: name, object: bell).observe(owner: owner) {
          $0.heard.record($1.number * factor)
        }
      }
    }
  }

  private func heardOfAll() -> [Int] {
    let before = screen.heard.count
    center.post(.tick, 1, object: bell)
    center.post(.tock, 1, object: bell)
    return screen.heard.values.dropFirst(before).sorted()
  }

  @Test(
    "A11 D2 removal by owner; by owner and name; by owner, name and object; by owner and object")
  func removal() {
    observeAll()
    #expect(heardOfAll() == [1, 10, 100, 1_000, 1_000])
    center.removeObservers(ownedBy: screen, of: .tick, object: bell)
    #expect(heardOfAll() == [1, 100, 1_000, 1_000])
    center.removeObservers(ownedBy: screen, of: .tick)
    #expect(heardOfAll() == [100, 1_000, 1_000])
    center.removeObservers(ownedBy: screen, object: Bell())
    #expect(heardOfAll() == [100, 1_000, 1_000])
    center.removeObservers(ownedBy: screen, object: bell)
    #expect(heardOfAll() == [])
    observeAll()
    center.removeObservers(ownedBy: screen)
    center.removeObservers(ownedBy: screen)
    #expect(heardOfAll() == [])
    #expect(center.registrations.count == 8)
  }

  @Test("A11 a name that nobody observes, and an owner that observes nothing, remove nobody")
  func nothing() {
    center.removeObservers(ownedBy: screen)
    observeAll()
    center.removeObservers(ownedBy: screen, of: Notification.Name("Other"))
    center.removeObservers(ownedBy: bell)
    makeCenter().removeObservers(ownedBy: screen)
    #expect(heardOfAll() == [1, 10, 100, 1_000, 1_000])
  }

  @Test("A11 removal reaches observers on queues and decoded ones")
  func queued() {
    let target = ManualTarget()
    center.notifications(of: .tick, object: bell).observe(owner: screen, on: .target(target)) {
      $0.heard.record($1.number)
    }
    center.notifications(of: Rung.self, object: bell).observe(owner: screen, on: .target(target)) {
      $0.heard.record($1.number)
    }
    center.post(.tick, 1, object: bell)
    center.post(Rung(number: 2), object: bell)
    center.removeObservers(ownedBy: screen, of: .tick, object: bell)
    center.removeObservers(ownedBy: screen, of: Rung.notificationName)
    target.runJobs()
    #expect(screen.heard.values.isEmpty)
  }

  @Test("C1 D3 every observation can be ended by its handle")
  func handles() {
    let first = center.observe(.tick, owner: screen) { $0.heard.record($1.number) }
    center.observe(.tick, owner: screen) { $0.heard.record($1.number * 10) }
    #expect(first.cancel() == .ended)
    #expect(first.cancel() == .alreadyEnded)
    center.post(.tick, 1)
    #expect(screen.heard.values == [10])
  }

  @Test("Foundation's own observers are left alone, and removing them leaves ours alone")
  func foundation() {
    let heard = Recorder<Int>()
    let own = center.addObserver(forName: .tick, object: nil, queue: nil) { _ in heard.record(1) }
    center.observe(.tick, owner: screen) { $0.heard.record($1.number) }
    center.removeObservers(ownedBy: screen)
    center.post(.tick, 1)
    center.observe(.tick, owner: screen) { $0.heard.record($1.number) }
    center.removeObserver(own)
    center.post(.tick, 2)
    #expect(heard.values == [1])
    #expect(screen.heard.values == [2])
  }
}
