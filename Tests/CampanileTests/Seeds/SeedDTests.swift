import Dispatch
import Testing

@testable import Campanile

/// What GYNotificationCenter gets wrong.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds D: automatic removal", .ownThread)
struct SeedDTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  @Test("D1 registrations of one owner for one type are distinct, always")
  func d1() {
    let (player, screen) = (Player(), Screen())
    center.observe(LevelChanged.self, owner: screen) { $0.heard.record($1.level) }
    center.observe(LevelChanged.self, owner: screen) { $0.heard.record($1.level) }
    center.messages(of: LevelChanged.self, about: player).observe(owner: screen) {
      $0.heard.record($1.level * 10)
    }
    center.observe(LevelChanged.self, owner: screen, on: queue.delivery) {
      $0.heard.record($1.level * 100)
    }
    queue.hold()
    center.post(LevelChanged(level: 1), about: player)
    queue.letGo()
    queue.flush()
    #expect(screen.heard.values == [1, 1, 10, 100])
  }

  @Test("D2 removal is by owner; owner and type; owner, type and subject; token")
  func d2() {
    let (one, other, screen) = (Player(), Player(), Screen())
    center.messages(of: LevelChanged.self, about: one).observe(owner: screen) {
      $0.heard.record($1.level)
    }
    center.messages(of: LevelChanged.self, about: other).observe(owner: screen) {
      $0.heard.record($1.level)
    }
    center.observe(Tick.self, owner: screen) { $0.heard.record($1.number) }
    let token = center.observe(Tick.self) { [heard] in heard.record($0.number) }
    func postAll() -> [Int] {
      let count = screen.heard.count
      center.post(LevelChanged(level: 1), about: one)
      center.post(LevelChanged(level: 2), about: other)
      center.post(Tick(number: 3))
      return Array(screen.heard.values.dropFirst(count))
    }
    #expect(postAll() == [1, 2, 3])
    center.removeObservers(ownedBy: screen, of: LevelChanged.self, about: one)
    #expect(postAll() == [2, 3])
    center.removeObservers(ownedBy: screen, of: LevelChanged.self)
    #expect(postAll() == [3])
    center.removeObservers(ownedBy: screen)
    #expect(postAll() == [])
    token.cancel()
    #expect(postAll() == [])
    #expect(heard.values == [3, 3, 3, 3])
  }

  @Test("D3 every way to add returns what can end it")
  func d3() {
    let (screen, statistics) = (Screen(), Statistics())
    let handles = [
      center.observe(Tick.self) { _ in }.registration,
      center.observe(Tick.self, owner: screen) { _, _ in },
      center.observe(Tick.self, owner: screen, on: .main) { _, _ in },
      center.observe(Tick.self, on: statistics) { _, _ in },
      center.messages(of: Tick.self).observeAsync(owner: screen) { _, _ in },
      center.anyMessage.observe(owner: screen) { _, _ in },
    ]
    #expect(!handles[0].isActive)
    #expect(handles.dropFirst().allSatisfy { $0.cancel() == .ended })
    #expect(center.observerCount == 0)
    withExtendedLifetime((screen, statistics)) {}
  }

  @Test("D4 posting without a queue does not race with removal", arguments: [1, 2, 8])
  func d4(width: Int) {
    let late = Recorder<Int>()
    onThreads(width) { [center] thread in
      for _ in 0..<100 {
        let isOver = Locked(false)
        let token = center.observe(Tick.self) { if isOver.value { late.record($0.number) } }
        center.post(Tick(number: thread))
        #expect(token.cancelAndWait() == .finished)
        isOver.withLock { $0 = true }
        center.post(Tick(number: thread))
      }
    }
    #expect(late.values.isEmpty)
  }

  @Test("D5 a hop in flight does not outlive the owner")
  func d5() {
    let slot = Slot<Screen>()
    func observe() {
      let screen = Screen()
      slot.set(screen)
      center.observe(Tick.self, owner: screen, on: queue.delivery) { [heard] _, tick in
        heard.record(tick.number)
      }
    }
    observe()
    weak let screen = slot.value
    queue.hold()
    for number in 0..<10 { center.post(Tick(number: number)) }
    slot.set(nil)
    #expect(screen == nil)
    queue.letGo()
    queue.flush()
    #expect(heard.values.isEmpty)
  }

  @Test("D6 no lock is held while a closure is released", arguments: [1, 2, 8])
  func d6(width: Int) {
    onThreads(width) { [center, heard] thread in
      for _ in 0..<50 {
        let token = center.observe(
          Tick.self,
          onRelease: {
            // On another thread: a lock that is held here would never be given to it.
            onThread {
              center.observe(Tock.self) { _ in }.cancel()
              center.post(Tock())
            }()
            heard.record(thread)
          })
        token.cancel()
      }
    }
    #expect(heard.count == width * 50)
  }

  @Test("D6 no lock is held while an observer runs")
  func d6Running() {
    let token = center.observe(Tick.self) { [center, heard] tick in
      onThread {
        center.observe(Tock.self) { _ in }.cancel()
        center.post(Tock())
        heard.record(tick.number)
      }()
    }
    center.post(Tick(number: 1))
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("D7 a later inline post does not overtake a queued one")
  func d7() {
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in
      heard.record($0.number)
    }
    let gate = Gate()
    queue.queue.async { [center] in
      gate.pass()
      center.post(Tick(number: 2))
    }
    gate.waitUntilReached()
    center.post(Tick(number: 1))
    gate.open()
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, 2])
  }

  @Test("D8 the owner is handed to the observer and not captured")
  func d8() {
    weak var weakScreen: Screen?
    func observe() {
      let screen = Screen()
      weakScreen = screen
      center.observe(Tick.self, owner: screen) { screen, tick in screen.heard.record(tick.number) }
      center.post(Tick(number: 1))
      #expect(screen.heard.values == [1])
    }
    observe()
    #expect(weakScreen == nil)
  }

  @Test("D9 there are as many centers as one likes, and the default one can be replaced")
  func d9() {
    let other = MessageCenter()
    let tokens = [
      center.observe(Tick.self) { [heard] in heard.record($0.number) },
      other.observe(Tick.self) { [heard] in heard.record($0.number * 10) },
    ]
    center.post(Tick(number: 1))
    MessageCenter.withDefault(other) { MessageCenter.default.post(Tick(number: 2)) }
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 20])
  }
}

extension Locked where State: Sendable {
  fileprivate var value: State { withLock { $0 } }
}
