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
