import Testing

@testable import CampanileRelay

struct OutgoingTests {
  /// A message that counts as 100 bytes.
  private func message(_ number: UInt64, subject: String = "a") -> Message {
    Message(1, number, at: at(1, number), subject: subject, payload: Array(repeating: 0, count: 35))
  }

  private func full(_ policy: RelayBuffering.Policy, _ bytes: Int) -> Outgoing {
    var outgoing = Outgoing(RelayBuffering(policy, bytes))
    let isHanded = outgoing.hand(Outgoing.window)
    #expect(isHanded)
    return outgoing
  }

  @Test func handsOnUntilTheWindowIsFull() {
    var outgoing = full(.newest, 1_000)
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
    var outgoing = full(.newest, 200)
    outgoing.append(message(1))
    outgoing.append(.flushed(token: 1))
    for number in 2...5 as ClosedRange<UInt64> { outgoing.append(message(number)) }
    let frames = outgoing.waiting(0)
    #expect(
      frames == [
        .lost([Loss(sender: 1, subject: "a", count: 3, number: 3, position: at(1, 3))]),
        .flushed(token: 1), .message(message(4)), .message(message(5)),
      ])
  }

  @Test func oldestRefusesTheNewestAndCounts() {
    var outgoing = full(.oldest, 200)
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

  @Test("R6 However much is dropped between other frames, each name and sender is counted once")
  func oneLossForEachSubject() {
    var outgoing = full(.newest, 200)
    var number: UInt64 = 0
    for _ in 1...3 {
      for subject in 0..<2_500 {
        number += 1
        outgoing.append(message(number, subject: "\(subject)"))
        // What another member has forgotten counts, too.
        let forgotten = Loss(
          sender: 2, subject: "b", count: 1, number: number, position: at(1, number))
        if subject % 100 == 0 { outgoing.append(.lost([forgotten])) }
      }
      outgoing.append(.flushed(token: number))
    }
    var losses: [Loss] = []
    var others: [HubFrame] = []
    for frame in outgoing.waiting(0) {
      guard case .lost(let some) = frame else {
        others.append(frame)
        continue
      }
      #expect(some.count <= 1_000)
      losses += some
    }
    #expect(losses.count == 2_501)
    #expect(losses.map(\.position) == losses.map(\.position).sorted())
    #expect(losses.reduce(0) { $0 + $1.count } == 7_500 - 1 + 75)
    #expect(others.filter { if case .flushed = $0 { true } else { false } }.count == 3)
    #expect(others.count == 4)
    #expect(outgoing.isEmpty)
  }

  @Test("R6 R7 Beyond a bound of names and senders, the number of losses is unknown")
  func unknownLosses() {
    var outgoing = Outgoing(RelayBuffering(.newest, 100), lossLimit: 600)
    let isHanded = outgoing.hand(Outgoing.window)
    #expect(isHanded)
    for number in 1...13 as ClosedRange<UInt64> {
      outgoing.append(message(number, subject: "\(number % 10)"))
    }
    var frames = outgoing.waiting(0)
    #expect(
      frames == [
        .lost([.unknown(before: at(1, 12))]), .message(message(13, subject: "3")),
      ])
    // There is room again.
    _ = outgoing.waiting(Outgoing.window)
    for number in 14...15 as ClosedRange<UInt64> { outgoing.append(message(number)) }
    frames = outgoing.waiting(0)
    #expect(
      frames == [
        .lost([Loss(sender: 1, subject: "a", count: 1, number: 14, position: at(1, 14))]),
        .message(message(15)),
      ])
  }

  @Test("R6 Of the lists of members that wait, the newest is sent")
  func newestPeers() {
    var outgoing = full(.newest, 1_000)
    func peers(_ count: UInt64) -> HubFrame {
      .peers((1...count).map { Peer(id: MemberID(rawValue: $0), name: "", processID: 1) }, hub: 1)
    }
    outgoing.append(peers(1))
    outgoing.append(message(1))
    outgoing.append(peers(2))
    var frames = outgoing.waiting(0)
    #expect(frames == [peers(2), .message(message(1))])
    _ = outgoing.waiting(Outgoing.window)
    outgoing.append(peers(3))
    frames = outgoing.waiting(0)
    #expect(frames == [peers(3)])
  }

  @Test("R7 A loss is not told before earlier messages of its sender")
  func lossesStayBehindMessages() {
    var outgoing = full(.oldest, 300)
    outgoing.append(message(1))
    outgoing.append(.message(message(2)))
    outgoing.append(message(3, subject: String(repeating: "a", count: 201)))
    outgoing.append(.flushed(token: 1))
    outgoing.append(message(4))
    outgoing.append(message(5, subject: String(repeating: "a", count: 201)))
    let losses = ([3, 5] as [UInt64]).map { number in
      Loss(
        sender: 1, subject: String(repeating: "a", count: 201), count: 1, number: number,
        position: at(1, number))
    }
    let frames = outgoing.waiting(0)
    #expect(
      frames == [
        .message(message(1)), .message(message(2)), .lost([losses[0]]), .flushed(token: 1),
        .message(message(4)), .lost([losses[1]]),
      ])
  }
}
