import Testing

@testable import Campanile

@Suite("Broadcaster", .ownThread)
struct BroadcasterTests {
  private let ticks = Broadcaster<Int>()
  private let heard = Recorder<Int>()

  @Test("An event without a value is sent without one")
  func nothing() {
    let bell = Broadcaster<Void>()
    let token = bell.observe { [heard] in heard.record(1) }
    bell.send()
    #expect(heard.values == [1])
    withExtendedLifetime(token) {}
  }

  @Test("finish() inside an observer skips those that come after it")
  func finishInside() {
    let tokens = (0..<3).map { index in
      ticks.observe { [ticks, heard] _ in
        heard.record(index)
        if index == 1 { ticks.finish() }
      }
    }
    ticks.send(1)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [0, 1])
  }

  @Test("A read-only view can be observed")
  func view() {
    let source = Source()
    let token = source.finished.observe { [heard] in heard.record($0) }
    let once = source.finished.observe(options: .once) { [heard] in heard.record($0 * 10) }
    source.finish(7)
    source.finish(8)
    withExtendedLifetime((token, once)) {}
    #expect(heard.values == [7, 70, 8])
  }

  @Test("Values that are functions, optionals and tuples in a struct are sent")
  func values() {
    let optional = Broadcaster<Int?>()
    let token = optional.observe { [heard] in heard.record($0 ?? -1) }
    optional.send(nil)
    optional.send(1)
    let functions = Broadcaster<@Sendable () -> Void>()
    let other = functions.observe { $0() }
    functions.send { [heard] in heard.record(2) }
    withExtendedLifetime((token, other)) {}
    #expect(heard.values == [-1, 1, 2])
  }

  @Test("Once, a nested send does not call the observer again")
  func onceNested() {
    let token = ticks.observe(options: .once) { [ticks, heard] in
      heard.record($0)
      ticks.send($0 + 1)
    }
    ticks.send(1)
    #expect(heard.values == [1])
    #expect(!token.isActive)
  }
}

private final class Source: Sendable {
  private let broadcaster = Broadcaster<Int>()
  var finished: Signal<Int> { broadcaster.signal }
  func finish(_ number: Int) { broadcaster.send(number) }
}
