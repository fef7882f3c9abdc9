import TestSupport
import Testing

@testable import CampanileRelay

struct MessageLogTests {
  private func entry(_ number: UInt64, bytes: Int = 36) -> LogEntry {
    LogEntry(
      message: Message(1, number, at: at(1, number), payload: Array(repeating: 1, count: bytes - 1))
    )
  }

  private func fill(_ log: inout MessageLog, _ numbers: ClosedRange<UInt64>) {
    for number in numbers { log.append(entry(number)) }
  }

  @Test("R6 A log keeps as many bytes as it may, and knows up to where it has forgotten")
  func keepsAsManyBytesAsAllowed() {
    // An entry counts as 164 bytes.
    #expect(entry(1).cost == 164)
    var log = MessageLog(limit: 492)
    fill(&log, 1...3)
    #expect(log.floor == .none)
    fill(&log, 4...5)
    #expect(log.entries(since: .none).map(\.message.number) == [3, 4, 5])
    #expect(log[0].message.payload.count == 35)
    #expect(log.floor == at(1, 2))
  }

  @Test func selectsByPosition() {
    var log = MessageLog(limit: 1_000)
    fill(&log, 1...4)
    log.append(LogEntry(message: Message(2, 1)))
    #expect(log.entries(since: at(1, 3)).map(\.message.key.number) == [4, 1])
  }

  /// Each search goes on where the last one ended, also when older entries have gone since.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func setsPositionsInAnyOrder(seed: UInt64) {
    var random = SeededGenerator(seed)
    var log = MessageLog(limit: 5_000)
    fill(&log, 1...40)
    var newest: UInt64 = 40
    var positions: [UInt64: Position] = [:]
    for number in (1...40).shuffled(using: &random) as [UInt64] {
      if number % 4 == 0 {
        newest += 1
        fill(&log, newest...newest)
      }
      let present = (0..<log.count).map { log[$0].message.number }
      let count = UInt32.random(in: 1...3, using: &random)
      log.setPositions(ofSender: 1, first: number, count: count, from: at(2, number))
      for changed in present where changed >= number && changed - number < count {
        positions[changed] = at(2, changed)
      }
    }
    for index in 0..<log.count {
      let message = log[index].message
      #expect(message.position == positions[message.number] ?? at(1, message.number))
    }
  }
}

struct RecoveredTests {
  private func numbers(_ entries: [LogEntry]) -> [[UInt64]] {
    Recovered.merge(entries).map { [$0.message.sender.rawValue, $0.message.number] }
  }

  @Test func unitesByPosition() {
    let entries = [
      LogEntry(message: Message(1, 2, at: at(1, 3))),
      LogEntry(message: Message(2, 1, at: at(1, 2))),
      LogEntry(message: Message(1, 1, at: at(1, 1))),
      LogEntry(message: Message(2, 1, at: at(1, 2))),
    ]
    #expect(numbers(entries) == [[1, 1], [2, 1], [1, 2]])
  }

  /// A question that only its sender still knows stands before an answer that others have heard.
  @Test func placesWhatWasNotSequencedRightAfterWhatItsSenderHad() {
    let entries = [
      LogEntry(message: Message(2, 1, at: at(1, 9))),  // the answer
      LogEntry(message: Message(3, 1, at: at(1, 5))),
      LogEntry(message: Message(1, 1), after: at(1, 5)),  // the question
      LogEntry(message: Message(1, 2), after: at(1, 5)),
    ]
    #expect(numbers(entries) == [[3, 1], [1, 1], [1, 2], [2, 1]])
  }

  @Test func keepsTheOrderOfASender() {
    let entries = [
      LogEntry(message: Message(1, 1, at: at(1, 9))),
      LogEntry(message: Message(1, 2), after: at(1, 2)),
      LogEntry(message: Message(2, 1, at: at(1, 10))),
    ]
    #expect(numbers(entries) == [[1, 1], [1, 2], [2, 1]])
  }

  @Test func keepsTheHighestPositionAndTheEarliestPlace() {
    let entries = [
      LogEntry(message: Message(1, 1, at: at(2, 7))),
      LogEntry(message: Message(1, 1, at: at(1, 1))),
      LogEntry(message: Message(2, 1, at: at(1, 2))),
    ]
    let merged = Recovered.merge(entries)
    #expect(merged.map(\.message.position) == [at(2, 7), at(1, 2)])
  }
}
