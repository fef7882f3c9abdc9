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
