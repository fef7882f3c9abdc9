import Campanile
import CampanileTesting
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import CampanileRelay

/// What a link has received and nobody has delivered yet.
struct InboxTests {
  private let inbox = Inbox()

  private func append(bytes: Int) -> Bool {
    let payload = [UInt8](repeating: 0, count: bytes)
    let message = RelayIncident.message(
      sender: 1, subject: "a", version: 0, path: [], payload: payload)
    return inbox.append([message]).pauses
  }

  @Test("The link stops reading at a megabyte, and reads on when half of it is delivered")
  func pauses() throws {
    for _ in 1...10 { #expect(!append(bytes: 100_000)) }
    #expect(append(bytes: 100_000))
    #expect(!append(bytes: 100_000))
    for _ in 1...6 {
      let next = try #require(inbox.next())
      #expect(!next.resumes)
    }
    #expect(inbox.next()?.resumes == true)
    #expect(inbox.next()?.resumes == false)
  }

  @Test("R6 The link stops reading while many long lists of peers wait")
  func listsOfPeers() {
    let peer = RelayPeer(id: 1, name: "x", processID: 1, isHub: false)
    let peers = RelayIncident.peers([RelayPeer](repeating: peer, count: 4_096))
    for _ in 1...3 { #expect(!inbox.append([peers]).pauses) }
    #expect(inbox.append(Array(repeating: peers, count: 10)).pauses)
  }

  @Test("R6 The link stops reading while many long names wait")
  func names() {
    let message = RelayIncident.message(
      sender: 1, subject: String(repeating: "a", count: 65_536), version: 0, path: [], payload: [])
    #expect(!inbox.append(Array(repeating: message, count: 15)).pauses)
    #expect(inbox.append([message]).pauses)
  }

  @Test("Who delivers is told once, and again when there was nothing left")
  func schedules() {
    #expect(inbox.append([.connected]).isFirst)
    #expect(!inbox.append([.connected]).isFirst)
    #expect(inbox.next() != nil)
    #expect(inbox.next() != nil)
    #expect(inbox.next() == nil)
    #expect(inbox.append([.connected]).isFirst)
  }

  @Test("What comes together is delivered in its order")
  func batches() {
    #expect(!inbox.append([]).isFirst)
    #expect(inbox.append([.flushed(1), .flushed(2)]).isFirst)
    #expect(!inbox.append([.flushed(3)]).isFirst)
    var tokens: [UInt64] = []
    while let (incidents, _) = inbox.next() {
      for case .flushed(let token) in incidents { tokens.append(token) }
    }
    #expect(tokens == [1, 2, 3])
  }

  @Test("Who waits for what has come does not wait after the end, and does if its task is canceled")
  func ended() async throws {
    let relay = Relay(.loopback("\(UInt64.random(in: 0 ... .max))"))
    let first = Gate()
    let heard = Locked(0)
    let token = relay.raw("a").observe { _ in
      heard.withLock { $0 += 1 }
      first.pass()
    }
    let message = RelayIncident.message(
      sender: 1, subject: "a", version: 0, path: [], payload: [])
    relay.core.receive([message])
    try await first.reached(within: lostAfter)
    relay.core.receive([message])
    let waiting = Task { await relay.core.finishDeliveries() }
    waiting.cancel()
    first.open()
    await waiting.value
    #expect(heard.withLock { $0 } == 2)
    relay.cancel()
    await relay.core.finishDeliveries()
    withExtendedLifetime(token) {}
  }

  @Test("A relay ends its deliveries although each brings another one", .timeLimit(.long))
  func takesTurns() async throws {
    let relay = Relay(.loopback("turns"))
    let count = Atomic(0)
    let isOver = Atomic(false)
    let counts = Recorder<Int>(timeout: lostAfter)
    @Sendable func deliverAgain() {
      let incident = RelayIncident.awaited(
        group: nil, sender: 1, subject: "a", version: 0, path: [], payload: []
      ) { _ in
        count.add(1, ordering: .relaxed)
        if !isOver.load(ordering: .relaxed) { deliverAgain() }
      }
      relay.core.receive([incident])
    }
    deliverAgain()
    Task {
      await relay.core.finishDeliveries()
      counts.record(count.load(ordering: .relaxed))
    }
    defer { isOver.store(true, ordering: .relaxed) }
    #expect(try await counts.next() > 0)
  }

  @Test("Who waits for what has come waits for the end of the last batch", .timeLimit(.long))
  func waitsForLastBatch() async throws {
    let relay = Relay(.loopback("\(UInt64.random(in: 0 ... .max))"))
    // The link says nothing more.
    try await relay.flush()
    let (first, last) = (Gate(), Gate())
    let heard = Locked(0)
    let token = relay.raw("a").observe { _ in
      let count = heard.withLock { count in
        count += 1
        return count
      }
      if count == 1 { first.pass() }
      if count == 1_026 { last.pass() }
    }
    let message = RelayIncident.message(
      sender: 1, subject: "a", version: 0, path: [], payload: [])
    for count in [1, 1_024, 50] {
      relay.core.receive(Array(repeating: message, count: count))
      if count == 1 { try await first.reached(within: lostAfter) }
    }
    let executor = ManualExecutor()
    let heardAtEnd = Locked<Int?>(nil)
    let waiting = Task(executorPreference: executor) {
      await relay.core.finishDeliveries()
      let count = heard.withLock { $0 }
      heardAtEnd.withLock { $0 = count }
    }
    // It waits in the queue, and so do the deliveries that follow the first 1,024.
    executor.runUntilIdle()
    first.open()
    try await last.reached(within: lostAfter)
    executor.runUntilIdle()
    last.open()
    await withCheckedContinuation { continuation in
      relay.core.deliveries.async { continuation.resume() }
    }
    executor.runUntilIdle()
    #expect(heardAtEnd.withLock { $0 } == 1_075)
    withExtendedLifetime((relay, token, waiting)) {}
  }

  @Test("It has gone on if something was delivered since somebody asked")
  func goesOn() {
    _ = inbox.append([.connected])
    _ = inbox.next()
    #expect(!inbox.hasGoneOn())
    #expect(inbox.mayDeliver())
    #expect(inbox.hasGoneOn())
    #expect(!inbox.hasGoneOn())
  }

  @Test("A closed one has nothing, and takes nothing")
  func closed() {
    _ = inbox.append([.connected])
    inbox.close()
    #expect(!inbox.mayDeliver())
    #expect(inbox.next() == nil)
    #expect(!inbox.append([.connected]).isFirst)
    #expect(inbox.next() == nil)
  }
}
