import Testing

@testable import Campanile

@Suite("Two sources as one", .ownThread)
struct MergedSignalTests {
  private let keys = Broadcaster<Int>()
  private let clicks = Broadcaster<Int>()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  private var merged: Signal<Int> { keys.signal.merged(with: clicks.signal) }

  @Test("An observer hears both, where it asks to be called, and each in its order")
  func both() {
    let late = Recorder<Int>()
    let tokens = [
      merged.observe { [heard] in heard.record($0) },
      merged.observe(on: queue.delivery) { late.record($0) },
    ]
    for number in 0..<3 {
      keys.send(number)
      clicks.send(10 + number)
    }
    queue.flush()
    #expect(heard.values == [0, 10, 1, 11, 2, 12])
    #expect(late.values == heard.values)
    withExtendedLifetime(tokens) {}
  }

  @Test("Nothing is registered until somebody observes, nor after the last observer has gone")
  func nothingKept() {
    weak var left: Screen?
    func observe() {
      let screen = Screen()
      left = screen
      let merged = merged
      #expect(keys.observerCount + clicks.observerCount == 0)
      merged.observe(owner: screen) { _, _ in }
      let token = merged.observe { _ in }
      #expect(keys.observerCount == 2)
      #expect(clicks.observerCount == 2)
      withExtendedLifetime((screen, token)) {}
    }
    observe()
    #expect(left == nil)
    // The next element finds that the owner has died.
    keys.send(1)
    #expect(keys.observerCount + clicks.observerCount == 0)
  }

  @Test("It ends when both have ended, and a sequence of it too")
  func ends() async throws {
    let merged = merged
    let token = merged.observe { [heard] in heard.record($0) }
    let read = Recorder(reading: merged.values())
    keys.send(1)
    keys.finish()
    #expect(token.isActive)
    clicks.send(2)
    clicks.finish()
    #expect(!token.isActive)
    #expect(heard.values == [1, 2])
    try await read.expect(1, within: patience)
    try await read.expect(2, within: patience)
    try await read.expectEnd(within: patience)
    #expect(!merged.observe { _ in }.isActive)
  }

  @Test("An observer of one call is called once, whichever source is first", arguments: [1, 2, 8])
  func once(width: Int) {
    for _ in 0..<50 {
      let heard = Recorder<Int>()
      let token = merged.observe(options: .once) { heard.record($0) }
      onThreads(width) { [keys, clicks] in $0 % 2 == 0 ? keys.send($0) : clicks.send($0) }
      #expect(heard.count == 1)
      #expect(!token.isActive)
    }
    #expect(keys.observerCount + clicks.observerCount == 0)
  }
}
