import Campanile
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

  @Test("Who delivers is told once, and again when there was nothing left")
  func schedules() {
    #expect(inbox.append([.connected]).isFirst)
    #expect(!inbox.append([.connected]).isFirst)
    #expect(inbox.next() != nil)
    #expect(inbox.next() != nil)
    #expect(inbox.next() == nil)
    #expect(inbox.append([.connected]).isFirst)
  }

  @Test("What comes together is delivered in its order, and counted")
  func batches() {
    #expect(!inbox.append([]).isFirst)
    #expect(inbox.append([.flushed(1), .flushed(2)]).isFirst)
    #expect(!inbox.append([.flushed(3)]).isFirst)
    #expect(inbox.count == 3)
    var tokens: [UInt64] = []
    while let (incidents, _) = inbox.next() {
      for case .flushed(let token) in incidents { tokens.append(token) }
    }
    #expect(tokens == [1, 2, 3])
  }

  @Test("Who waits for what has come does not wait for what comes later, nor after the end")
  func behind() {
    for _ in 1...3 { _ = inbox.append([.connected]) }
    let count = inbox.count
    for _ in 1...2 { _ = inbox.append([.connected]) }
    for _ in 1...3 {
      #expect(inbox.isBehind(count))
      _ = inbox.next()
    }
    #expect(!inbox.isBehind(count))
    #expect(inbox.isBehind(inbox.count))
    inbox.close()
    #expect(!inbox.isBehind(count + 2))
  }

  @Test("A relay ends its deliveries although each brings another one", .timeLimit(.minutes(10)))
  func takesTurns() async {
    let relay = Relay(.loopback("turns"))
    let isOver = Locked(false)
    @Sendable func deliverAgain() {
      relay.core.receive([.delivered { if !isOver.withLock({ $0 }) { deliverAgain() } }])
    }
    deliverAgain()
    await relay.core.finishDeliveries()
    isOver.withLock { $0 = true }
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
