import Campanile
import Testing

@testable import CampanileRelay

@Suite("Draining a relay that is not connected", .timeLimit(.minutes(10)))
struct DrainTests {
  /// A relay that has been told to drain while it connects, and what its link is to do after that.
  private func draining() async -> (
    RecordingLink, Task<Void, Never>, AsyncStream<RelayOperation>.AsyncIterator
  ) {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    var operations = link.operations.makeAsyncIterator()
    relay.post(raw: [1], to: "a")
    let draining = Task { await relay.drain() }
    while let operation = await operations.next() {
      if case .endHearing = operation { break }
    }
    // It would have been over by now.
    for _ in 1...100 { await Task.yield() }
    return (link, draining, operations)
  }

  // Broken by: RelayCore.sendPosts, if it does not wait while the relay connects.
  @Test("While it connects, it waits until the carrier has what was posted")
  func connecting() async {
    var (link, draining, operations) = await draining()
    link.say(.connected)
    var flushes = 0
    while let operation = await operations.next() {
      guard case .flushPosts(let token) = operation else { continue }
      flushes += 1
      link.say(.flushed(token))
    }
    #expect(flushes == 2)
    await draining.value
  }

  // Broken by: RelayCore.sendPosts, if it waits for a relay that cannot connect.
  @Test("If it cannot connect, or the task is canceled, it ends", arguments: [true, false])
  func unavailable(isCancelled: Bool) async {
    var (link, draining, operations) = await draining()
    if isCancelled { draining.cancel() } else { link.say(.disconnected("There is no server.")) }
    while let operation = await operations.next() {
      if case .flushPosts = operation { Issue.record("It waits for what nobody takes.") }
    }
    await draining.value
  }
}
