import Dispatch
import Testing

@testable import Campanile

@Suite("K12: bounded on demand", .ownThread)
struct BufferingTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  private func post(_ numbers: Range<Int>) {
    queue.hold()
    for number in numbers { center.post(Tick(number: number)) }
    queue.letGo()
    queue.flush()
  }

  @Test(
    "K12 newest keeps the newest and oldest the oldest, in order, and what is dropped is counted",
    arguments: [Buffering.newest(3), .oldest(3)])
  func bounds(buffering: Buffering) {
    let token = center.observe(Tick.self, on: queue.delivery.buffered(buffering)) {
      [heard] in heard.record($0.number)
    }
    post(0..<10)
    #expect(heard.values == (buffering == .newest(3) ? [7, 8, 9] : [0, 1, 2]))
    #expect(token.registration.droppedCount == 7)
    post(10..<12)
    #expect(heard.values.suffix(2) == [10, 11])
    #expect(token.registration.droppedCount == 7)
  }

  @Test("K10 who waits is told when a bounded observer has been called by itself")
  func waitedFor() async throws {
    let manual = ManualTarget()
    let sent = Recorder<Int>()
    let tokens = [
      center.observe(Tick.self, on: manual.delivery.buffered(.newest(2))) { [heard] in
        heard.record($0.number)
      },
      // Called once what the other is sent waits for it.
      center.observe(Tick.self) { sent.record($0.number) },
    ]
    async let first: Void = center.postAndWait(Tick(number: 1))
    _ = await sent.values(count: 1)
    center.post(Tick(number: 2))
    manual.runNext()
    try await first
    #expect(heard.values == [1])
    withExtendedLifetime(tokens) {}
  }

  @Test("K16 a target goes although something waits on it for an observer that has ended")
  func targetGoes() {
    weak var lost: ManualTarget?
    func observe() {
      let manual = ManualTarget()
      lost = manual
      let tokens = [
        center.observe(Tick.self, on: manual.delivery) { _ in },
        center.observe(Tick.self, on: manual.delivery.buffered(.newest(2))) { _ in },
      ]
      center.post(Tick(number: 1))
      for token in tokens { token.cancel() }
    }
    observe()
    #expect(lost == nil)
  }

  @Test("K10 K12 after a thousand values a bounded observer lets others have the target")
  func givesWay() {
    let target = ManualTarget()
    let token = center.observe(Tick.self, on: .target(target, buffering: .newest(10_000))) {
      [heard] in heard.record($0.number)
    }
    for number in 0..<1_500 { center.post(Tick(number: number)) }
    target.takeJob()?.run()
    #expect(heard.count == 1_024)
    #expect(target.enqueuedCount == 2)
    target.takeJob()?.run()
    #expect(target.enqueuedCount == 2)
    #expect(heard.values == Array(0..<1_500))
    withExtendedLifetime(token) {}
  }

  @Test("K12 K16 a bounded observer asked for once has one call, and is gone after it")
  func once() throws {
    let leaks = LeakTracker()
    let token = center.observe(
      Tick.self, on: queue.delivery.buffered(.newest(5)), options: .once
    ) { [heard, probe = leaks.makeProbe("closure")] in
      probe.touch()
      heard.record($0.number)
    }
    post(0..<3)
    #expect(heard.values == [0])
    #expect(!token.isActive)
    try leaks.expectGone()
    #expect(token.cancel() == .alreadyEnded)
  }

  @Test("K12 the count stays readable after the end")
  func countAfterEnd() {
    let screen = Screen()
    let registration = center.observe(
      Tick.self, owner: screen, on: queue.delivery.buffered(.newest(1))
    ) { $0.heard.record($1.number) }
    post(0..<5)
    registration.cancel()
    #expect(registration.droppedCount == 4)
    #expect(screen.heard.values == [4])
  }

  @Test("K12 posts of many threads are heard or counted", arguments: [1, 2, 8])
  func accounts(width: Int) {
    let tokens = [
      center.observe(Tick.self, on: queue.delivery.buffered(.newest(4))) { [heard] in
        heard.record($0.number)
      },
      center.observe(Tick.self, on: queue.delivery.buffered(.oldest(4))) { [heard] in
        heard.record($0.number)
      },
    ]
    onThreads(width) { [center] _ in
      for number in 0..<200 { center.post(Tick(number: number)) }
    }
    queue.flush()
    let dropped = tokens.reduce(0) { $0 + $1.registration.droppedCount }
    #expect(heard.count + dropped == 2 * width * 200)
  }

  @Test("K12 an asynchronous observer takes a policy")
  func async() async throws {
    let gate = AsyncGate()
    let inbox = Inbox<Int>()
    let token = center.messages(of: Tick.self).observeAsync(buffering: .newest(2)) { tick in
      await gate.pass()
      inbox.record(tick.number)
    }
    center.post(Tick(number: 0))
    await gate.waitUntilReached()
    for number in 1..<6 { center.post(Tick(number: number)) }
    #expect(token.registration.droppedCount == 3)
    gate.open()
    #expect(await inbox.values(count: 3) == [0, 4, 5])
    withExtendedLifetime(token) {}
  }

  @Test("K12 a value that was dropped is released")
  func released() {
    struct Cargo: MessageCenter.Message { let tracked: Tracked }
    let live = LiveCount()
    let token = center.observe(Cargo.self, on: queue.delivery.buffered(.newest(1))) { _ in }
    queue.hold()
    for _ in 0..<5 { center.post(Cargo(tracked: Tracked(live))) }
    #expect(live.current == 1)
    token.cancel()
    #expect(live.current == 0)
    queue.letGo()
  }

  @Test("K12 A9 a capacity below one is a precondition failure")
  func capacity() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let center = MessageCenter()
        center.observe(Tick.self, on: .queue(.main, buffering: .newest(0))) { _ in }.cancel()
      },
      says: "room for 0 values")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let center = MessageCenter()
        center.observe(Tick.self, on: .queue(.main, buffering: .oldest(-1))) { _ in }.cancel()
      },
      says: "room for -1 values")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let center = MessageCenter()
        center.messages(of: Tick.self).observeAsync(buffering: .newest(0)) { _ in }.cancel()
      },
      says: "room for 0 values")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = MessageCenter().messages(of: Tick.self).values(buffering: .newest(0))
      },
      says: "room for 0 values")
  }
}
