import Dispatch
import Testing

@testable import Campanile

/// What Apple's notification center gets wrong without Apple's frameworks.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds A: the system's notification center", .ownThread)
struct SeedATests {
  private let center = MessageCenter()
  private let heard = Recorder<String>()
  private let queue = TestQueue()

  @Test("A1 delivery is in registration order, wildcards at their place")
  func a1() {
    let player = Player()
    let tokens = [
      center.observe(LevelChanged.self) { [heard] _ in heard.record("1 all") },
      center.anyMessage.observe { [heard] _ in heard.record("2 any") },
      center.messages(of: LevelChanged.self, about: player).observe { [heard] _ in
        heard.record("3 about")
      },
      center.observe(Tick.self) { [heard] _ in heard.record("never") },
      center.anyMessage.observe { [heard] _ in heard.record("4 any") },
      center.observe(LevelChanged.self) { [heard] _ in heard.record("5 all") },
    ]
    center.post(LevelChanged(level: 1), about: player)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["1 all", "2 any", "3 about", "4 any", "5 all"])
  }

  @Test("A2 an observer that is removed during a post is skipped", arguments: [1, 2, 8])
  func a2(width: Int) {
    onThreads(width) { _ in
      let (center, heard) = (MessageCenter(), Recorder<Int>())
      let victim = Slot<ObservationToken>()
      let first = center.observe(Tick.self) { _ in victim.set(nil) }
      victim.set(center.observe(Tick.self) { heard.record($0.number) })
      let last = center.observe(Tick.self) { heard.record($0.number * 10) }
      center.post(Tick(number: 1))
      withExtendedLifetime((first, last)) {}
      #expect(heard.values == [10])
    }
  }

  @Test("A3 a second cancel of a stale token ends nobody else")
  func a3() {
    let stale = center.observe(Tick.self) { _ in }
    stale.cancel()
    let tokens = (0..<10).map { index in
      center.observe(Tick.self) { [heard] _ in heard.record("\(index)") }
    }
    #expect(stale.cancel() == .alreadyEnded)
    #expect(stale.registration.cancel() == .alreadyEnded)
    center.post(Tick(number: 1))
    withExtendedLifetime(tokens) {}
    #expect(heard.count == 10)
  }

  @Test("A4 a token given to the wrong center removes nobody there")
  func a4() {
    let other = MessageCenter()
    let token = center.observe(Tick.self) { [heard] _ in heard.record("one") }
    let kept = other.observe(Tick.self) { [heard] _ in heard.record("other") }
    let screen = Screen()
    other.observe(Tick.self, owner: screen) { $0.heard.record($1.number) }
    center.removeObserver(kept)
    center.removeObserver(kept.registration)
    center.removeObserver(token)
    center.removeObservers(ownedBy: screen)
    for center in [center, other] { center.post(Tick(number: 1)) }
    withExtendedLifetime(kept) {}
    #expect(heard.values == ["other"])
    #expect(screen.heard.values == [1])
    #expect(token.registration != kept.registration)
  }

  @Test("A5 a wildcard observer and a typed message live on one center")
  func a5() {
    let tokens = [
      center.anyMessage.observe { [heard] in heard.record("any \($0.message)") },
      center.observe(Tick.self) { [heard] in heard.record("typed \($0.number)") },
    ]
    center.post(Tick(number: 1))
    center.post(Tock())
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["any Tick(number: 1)", "typed 1", "any Tock()"])
  }

  @Test("A6 an observer of a dead subject hears nothing of new objects", arguments: [1, 2, 8])
  func a6(width: Int) {
    let tokens = (0..<50).map { _ in
      center.messages(of: LevelChanged.self, about: Player()).observe { [heard] in
        heard.record("\($0.level)")
      }
    }
    onThreads(width) { [center] _ in
      for level in 0..<500 { center.post(LevelChanged(level: level), about: Player()) }
    }
    withExtendedLifetime(tokens) {}
    #expect(heard.values.isEmpty)
  }

  @Test("A7 a busy queue does not block the poster, and A to B to A ends")
  func a7() {
    let other = TestQueue("other")
    let done = DispatchSemaphore(value: 0)
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { [center, heard] _ in
        heard.record("A")
        center.post(Tock())
      },
      center.observe(Tock.self, on: other.delivery) { [center, heard] _ in
        heard.record("B")
        center.post(LevelChanged(level: 1))
      },
      center.observe(LevelChanged.self, on: queue.delivery) { [heard] _ in
        heard.record("A again")
        done.signal()
      },
    ]
    queue.hold()
    center.post(Tick(number: 1))
    #expect(heard.values.isEmpty)
    queue.letGo()
    done.wait()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["A", "B", "A again"])
  }

  @Test("A7 K11 The queue is held strongly for as long as the registration lives, and delivers")
  func a7Kept() async {
    let place = DispatchSpecificKey<String>()
    func observe() -> ObservationToken {
      let queue = DispatchQueue(label: "short-lived")
      queue.setSpecific(key: place, value: "on the queue")
      return center.observe(Tick.self, on: .queue(queue)) { [heard] _ in
        heard.record(DispatchQueue.getSpecific(key: place) ?? "elsewhere")
      }
    }
    let token = observe()
    center.post(Tick(number: 1))
    #expect(await heard.values(count: 1) == ["on the queue"])
    withExtendedLifetime(token) {}
  }

  @Test("A8 asynchronous messages to one observer are in order and never overlap")
  func a8() async throws {
    let overlaps = Recorder<Int>()
    let inside = Locked(0)
    let token = center.messages(of: Tick.self).observeAsync { [heard] tick in
      let count = inside.withLock { value in
        value += 1
        return value
      }
      if count > 1 { overlaps.record(count) }
      for _ in 0..<(tick.number % 3) { await Task.yield() }
      heard.record("\(tick.number)")
      inside.withLock { $0 -= 1 }
    }
    for number in 0..<50 { center.post(Tick(number: number)) }
    try await center.postAndWait(Tick(number: 50))
    withExtendedLifetime(token) {}
    #expect(heard.values == (0...50).map { "\($0)" })
    #expect(overlaps.values.isEmpty)
  }

  @Test("A8 nothing arrives after the cancel")
  func a8Cancel() async {
    let gate = AsyncGate()
    let token = center.messages(of: Tick.self).observeAsync { [heard] tick in
      heard.record("\(tick.number)")
      await gate.pass()
    }
    for number in 0..<20 { center.post(Tick(number: number)) }
    await gate.waitUntilReached()
    token.cancel()
    gate.open()
    _ = await token.cancelAndWait()
    center.post(Tick(number: 20))
    #expect(heard.values == ["0"])
  }

  @Test("A9 a sequence in a cancelled task ends at once")
  func a9() async {
    let messages = center.messages(of: Tick.self).values()
    let gate = AsyncGate()
    let task = Task { [heard] in
      await gate.pass()
      for await tick in messages { heard.record("\(tick.number)") }
    }
    await gate.waitUntilReached()
    task.cancel()
    gate.open()
    await task.value
    #expect(heard.values.isEmpty)
  }

  @Test("A9 a buffer without room is a clear precondition failure")
  func a9Buffer() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = MessageCenter().messages(of: Tick.self).values(buffering: .newest(0))
    }
    expect(result, says: "room for 0 values")
  }

  @Test("A9 a sequence about a dead subject stays silent, and ends with the center")
  func a9Subject() async {
    var center: MessageCenter? = MessageCenter()
    func messagesAboutNobody() -> (some AsyncSequence<LevelChanged, Never> & Sendable)? {
      center?.messages(of: LevelChanged.self, about: Player()).values()
    }
    var messages = messagesAboutNobody()!.makeAsyncIterator()
    for level in 0..<100 {
      center?.post(LevelChanged(level: level))
      center?.post(LevelChanged(level: level), about: Player())
    }
    center = nil
    while let message = await messages.next(isolation: nil) { heard.record("\(message.level)") }
    #expect(heard.values.isEmpty)
  }

  @Test("A11 removal by observer, and by observer, type and subject", arguments: [10, 1_000])
  func a11(others: Int) {
    let (player, screen) = (Player(), Screen())
    let crowd = (0..<others).map { _ in Screen() }
    for other in crowd {
      center.observe(LevelChanged.self, owner: other) { $0.heard.record($1.level) }
    }
    center.observe(LevelChanged.self, owner: screen) { $0.heard.record($1.level) }
    center.messages(of: LevelChanged.self, about: player).observe(owner: screen) {
      $0.heard.record($1.level * 10)
    }
    center.observe(Tick.self, owner: screen) { $0.heard.record($1.number * 100) }
    func postAll() {
      center.post(LevelChanged(level: 1), about: player)
      center.post(Tick(number: 1))
    }
    postAll()
    #expect(screen.heard.values == [1, 10, 100])
    center.removeObservers(ownedBy: screen, of: LevelChanged.self, about: player)
    postAll()
    #expect(screen.heard.values == [1, 10, 100, 1, 100])
    center.removeObservers(ownedBy: screen)
    postAll()
    #expect(screen.heard.count == 5)
    #expect(crowd.allSatisfy { $0.heard.values == [1, 1, 1] })
    #expect(center.observerCount == others)
    withExtendedLifetime(crowd) {}
  }

  @Test("A12 a method reference is an observer, its target weak")
  func a12() {
    final class Target: Sendable {
      let heard: Recorder<String>
      init(_ heard: Recorder<String>) { self.heard = heard }
      @Sendable func take(_ tick: Tick) { heard.record("\(tick.number)") }
    }
    weak var weakTarget: Target?
    func observe() {
      let target = Target(heard)
      weakTarget = target
      center.observe(Tick.self, owner: target) { Target.take($0)($1) }
      center.post(Tick(number: 1))
      withExtendedLifetime(target) {}
    }
    observe()
    center.post(Tick(number: 2))
    #expect(heard.values == ["1"])
    #expect(weakTarget == nil)
  }
}
