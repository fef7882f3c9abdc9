import Testing

@testable import Campanile

@Suite("Token bags", .ownThread)
struct TokenBagTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let bag = TokenBag()

  private func observe(into bag: TokenBag) {
    center.observe(Tick.self) { [heard] in heard.record($0.number) }.store(in: bag)
  }

  @Test("A bag keeps tokens and ends them with itself")
  func release() {
    func use() {
      let bag = TokenBag()
      observe(into: bag)
      observe(into: bag)
      center.post(Tick(number: 1))
      #expect(bag.count == 2)
    }
    use()
    center.post(Tick(number: 2))
    #expect(heard.values == [1, 1])
    #expect(center.observerCount == 0)
  }

  @Test("A bag has an observation once, however often it is inserted, and instead of its token")
  func insertedAgain() {
    var tokens = [center.observe(Tick.self) { _ in }, center.observe(Tick.self) { _ in }]
    bag.insert(tokens[1].registration)
    for _ in 1...100 { for one in tokens { bag.insert(one) } }
    tokens = []
    #expect(bag.count == 2)
    #expect(center.observerCount == 2)
    bag.cancel()
    #expect(center.observerCount == 0)
  }

  @Test("cancel empties the bag, which can be used again")
  func cancel() {
    observe(into: bag)
    bag.cancel()
    #expect(bag.count == 0)
    center.post(Tick(number: 1))
    observe(into: bag)
    center.post(Tick(number: 2))
    bag.cancel()
    bag.cancel()
    #expect(heard.values == [2])
  }

  @Test("The pauses of a bag stay when it is canceled")
  func canceledWhilePaused() {
    bag.pause()
    observe(into: bag)
    bag.cancel()
    #expect(bag.isPaused)
    observe(into: bag)
    center.post(Tick(number: 1))
    bag.resume()
    #expect(!bag.isPaused)
    center.post(Tick(number: 2))
    #expect(heard.values == [2])
  }

  @Test("A bag pauses what is in it and what comes into it, counted")
  func pause() {
    observe(into: bag)
    bag.pause()
    bag.pause()
    observe(into: bag)
    center.post(Tick(number: 1))
    bag.resume()
    #expect(bag.isPaused)
    center.post(Tick(number: 2))
    bag.resume()
    bag.resume()
    #expect(!bag.isPaused)
    center.post(Tick(number: 3))
    #expect(heard.values == [3, 3])
    // What was resumed once too often is paused by one pause, as is what comes then.
    bag.pause()
    #expect(bag.isPaused)
    observe(into: bag)
    center.post(Tick(number: 4))
    #expect(heard.count == 2)
  }

  @Test("K5 K14 The followers in a bag that resumes are told in the order they registered")
  func resumedInOrder() {
    let state = CurrentValue(0)
    for number in 1...20 {
      state.observe { [heard] _ in heard.record(number) }.store(in: bag)
    }
    bag.pause()
    state.value = 1
    bag.resume()
    #expect(heard.values == Array(1...20))
  }

  @Test("What is paused stays in its bag, however many others come and go")
  func pausedStays() {
    let screen = Screen()
    let paused = center.observe(Tick.self, owner: screen) { $0.heard.record($1.number) }
    bag.insert(paused)
    paused.pause()
    for _ in 0..<100 { observe(into: bag) }
    #expect(bag.count == 101)
    bag.cancel()
    #expect(!paused.isActive)
    withExtendedLifetime(screen) {}
  }

  @Test(
    "However many others come and go, a bag keeps the observer whose only call runs in a task")
  func onlyCall() async {
    let (gate, states) = (AsyncGate(), Inbox<Bool>())
    func call(in bag: TokenBag) {
      center.messages(of: Tick.self).observeAsync(options: .once) { _ in
        await gate.pass()
        states.record(Task.isCancelled)
      }.store(in: bag)
      center.post(Tick(number: 1))
    }
    let other = TokenBag()
    call(in: bag)
    call(in: other)
    await gate.waitUntilReached(by: 2)
    for _ in 0..<100 {
      for bag in [bag, other] { observe(into: bag) }
    }
    // The one is kept to its end, the other still ends with its bag.
    #expect(bag.count == 100)
    other.cancel()
    gate.open()
    #expect(await states.values(count: 2).sorted { !$0 && $1 } == [false, true])
  }

  @Test("K16 A bag keeps few sources of what has ended, and none once it was cancelled")
  func sources() throws {
    let leaks = LeakTracker()
    func insert(ended: Bool) {
      let center = ended ? MessageCenter() : center
      center.observe(Tick.self) { _ in }.store(in: bag)
      if ended { leaks.track(center.registry) }
    }
    insert(ended: false)
    for _ in 0..<1_000 { insert(ended: true) }
    #expect((1...33).contains(leaks.alive.count))
    bag.cancel()
    try leaks.expectGone()
    // A bag that was full once is as one that was not.
    for _ in 0...1_000 { insert(ended: false) }
    bag.cancel()
    for _ in 0..<500 { insert(ended: true) }
    #expect((1...33).contains(leaks.alive.count))
  }

  @Test("An observer can cancel the bag that keeps it")
  func cancelInside() {
    center.observe(Tick.self) { [bag, heard] in
      heard.record($0.number)
      bag.cancel()
    }.store(in: bag)
    observe(into: bag)
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    #expect(heard.values == [1])
  }

  @Test("A closure in a bag whose release uses the bag")
  func releaseCallsBack() {
    center.observe(Tick.self, onRelease: { [bag, heard] in heard.record(bag.count) }).store(in: bag)
    bag.cancel()
    #expect(heard.values == [0])
  }

  @Test("A bag is safe from any thread", arguments: [1, 2, 8])
  func threads(width: Int) {
    onThreads(width) { [bag, center] _ in
      for number in 0..<100 {
        observe(into: bag)
        bag.pause()
        center.post(Tick(number: number))
        bag.resume()
        if number % 10 == 0 { bag.cancel() }
      }
    }
    #expect(!bag.isPaused)
    bag.cancel()
    #expect(center.observerCount == 0)
  }
}
