import Testing

@testable import CampanileRelay

struct OutgoingTests {
  /// A message that counts as 100 bytes.
  private func message(_ number: UInt64, subject: String = "a") -> Message {
    Message(1, number, at: at(1, number), subject: subject, payload: Array(repeating: 0, count: 35))
  }

  private func full(_ policy: BufferingPolicy) -> Outgoing {
    var outgoing = Outgoing(policy)
    let isHanded = outgoing.hand(Outgoing.window)
    #expect(isHanded)
    return outgoing
  }

  @Test func handsOnUntilTheWindowIsFull() {
    var outgoing = full(.newest(bytes: 1_000))
    #expect(outgoing.isEmpty)
    let isHanded = outgoing.hand(1)
    #expect(!isHanded)
    outgoing.append(message(1))
    outgoing.append(.flushed(token: 1))
    #expect(!outgoing.isEmpty)
    let none = outgoing.waiting(Outgoing.window)
    #expect(none == [])
    let frames = outgoing.waiting(0)
    #expect(frames == [.message(message(1)), .flushed(token: 1)])
    let isHandedNow = outgoing.hand(1)
    #expect(isHandedNow)
  }

  @Test func newestDropsTheOldestAndCounts() {
    var outgoing = full(.newest(bytes: 200))
    outgoing.append(message(1))
    outgoing.append(.flushed(token: 1))
    for number in 2...5 as ClosedRange<UInt64> { outgoing.append(message(number)) }
    let frames = outgoing.waiting(0)
    #expect(
      frames == [
        .lost([Loss(sender: 1, subject: "a", count: 1, number: 1, position: at(1, 1))]),
        .flushed(token: 1),
        .lost([Loss(sender: 1, subject: "a", count: 2, number: 3, position: at(1, 3))]),
        .message(message(4)), .message(message(5)),
      ])
  }

  @Test func oldestRefusesTheNewestAndCounts() {
    var outgoing = full(.oldest(bytes: 200))
    for number in 1...3 as ClosedRange<UInt64> { outgoing.append(message(number)) }
    outgoing.append(message(4, subject: "b"))
    outgoing.append(message(5))
    outgoing.append(.flushed(token: 1))
    let frames = outgoing.waiting(0)
    #expect(
      frames == [
        .message(message(1)), .message(message(2)),
        .lost([
          Loss(sender: 1, subject: "b", count: 1, number: 4, position: at(1, 4)),
          Loss(sender: 1, subject: "a", count: 2, number: 5, position: at(1, 5)),
        ]),
        .flushed(token: 1),
      ])
  }
}
