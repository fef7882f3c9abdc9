import Campanile
import CampanileTesting
import Dispatch
import TestSupport
import Testing

@testable import CampanileRelay

@Suite("Draining a relay that is not connected", .ownThread, .timeLimit(.long))
struct DrainTests {
  /// A relay that has been told to drain while it connects, and what its link is to do after that.
  private func draining() async throws -> (
    RecordingLink, Task<Void, Never>, AsyncStream<RelayOperation>.AsyncIterator
  ) {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    var operations = link.operations.makeAsyncIterator()
    let seen = Recorder(observing: relay.core.state.events)
    relay.post(raw: [1], to: "a")
    let draining = Task { await relay.drain() }
    while let operation = await operations.next() {
      if case .endHearing = operation { break }
    }
    // Its tasks look at the state.
    for _ in 1...2 { while try await seen.next(within: lostAfter).kind != .registered {} }
    return (link, draining, operations)
  }

  @Test(
    "While it connects, it waits until the carrier has what was posted, over several connections",
    arguments: [nil, "", "A reset."])
  func connecting(lostFor reason: String?) async throws {
    var (link, draining, operations) = try await draining()
    link.say(.connected)
    var flushes = 0
    while let operation = await operations.next() {
      guard case .flushPosts(let token) = operation else { continue }
      flushes += 1
      if let reason, flushes == 1 {
        link.say(.disconnected(reason, isInterruption: true))
        link.say(.connected)
      }
      link.say(.flushed(token))
    }
    #expect(flushes == 2)
    await draining.value
  }

  @Test("If it cannot connect, or the task is canceled, it ends", arguments: [true, false])
  func unavailable(isCancelled: Bool) async throws {
    var (link, draining, operations) = try await draining()
    if isCancelled { draining.cancel() } else { link.say(.disconnected("There is no server.")) }
    while let operation = await operations.next() {
      if case .flushPosts = operation { Issue.record("It waits for what nobody takes.") }
    }
    await draining.value
  }

  @Test("If the connection is lost meanwhile, it ends")
  func lost() async throws {
    var (link, draining, operations) = try await draining()
    link.say(.connected)
    while let operation = await operations.next() {
      if case .flushPosts = operation { link.say(.disconnected("The server has ended.")) }
    }
    await draining.value
  }

  @Test("What is answered or carried after it has begun is not offered, and not sent")
  func tooLate() async {
    let (link, center) = (RecordingLink(), MessageCenter())
    let relay = Relay(Relay.Transport { _, _ in link })
    var operations = link.operations.makeAsyncIterator()
    let draining = Task { await relay.drain() }
    while let operation = await operations.next() {
      if case .endHearing = operation { break }
    }
    let token = relay.answer(raw: "late") { _, bytes in bytes }
    relay.carry(Tick.self, in: center, .outward)
    center.post(Tick(number: 1))
    link.say(.connected)
    while let operation = await operations.next() {
      switch operation {
      case .flushPosts(let token): link.say(.flushed(token))
      case .answer, .posts: Issue.record("\(operation) is too late.")
      default: break
      }
    }
    await draining.value
    withExtendedLifetime(token) {}
  }

  @Test("A type that is carried after it has begun has no observer in the center")
  func noObserver() {
    let (link, center) = (RecordingLink(), MessageCenter())
    let relay = Relay(Relay.Transport { _, _ in link })
    relay.core.carried.endOutward()
    let seen = Recorder(observing: center.events)
    relay.carry(Tick.self, in: center, .outward)
    #expect(!seen.values.contains { $0.kind == .registered })
  }

  @Test("A pattern that is longer than any name is denied, and not sent")
  func longPattern() async throws {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    let events = Recorder(observing: relay.events)
    let pattern = String(repeating: "a", count: 65_537)
    do {
      let token = relay.raw(pattern).observe { _ in }
      #expect(try await events.next(within: lostAfter).kind == .denied)
      withExtendedLifetime(token) {}
    }
    // What has been queued is handed over.
    link.queue.sync {}
    relay.cancel()
    for await operation in link.operations { Issue.record("\(operation) is not expected.") }
  }
}
