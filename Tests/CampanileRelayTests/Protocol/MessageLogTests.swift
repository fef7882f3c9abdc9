import TestSupport
import Testing

@testable import CampanileRelay

struct MessageLogTests {
  private func entry(_ number: UInt64, bytes: Int = 36) -> LogEntry {
    LogEntry(
      message: Message(1, number, at: at(1, number), payload: Array(repeating: 1, count: bytes - 1))
    )
  }

  private func fill(_ log: inout MessageLog, _ numbers: ClosedRange<UInt64>) -> [UInt64] {
    var forgotten: [UInt64] = []
    for number in numbers {
      log.append(entry(number))
      while let oldest = log.trim() { forgotten.append(oldest.message.number) }
    }
    return forgotten
  }

  @Test func keepsAsManyBytesAsAllowed() {
    // An entry counts as 164 bytes.
    #expect(entry(1).cost == 164)
    var log = MessageLog(limit: 492)
    let forgotten = fill(&log, 1...5)
    #expect(forgotten == [1, 2])
    #expect(log.entries(since: .none).map(\.message.number) == [1, 2, 3, 4, 5])
    #expect(log.entries(since: .none).map(\.isForgotten) == [true, true, false, false, false])
    #expect(log[0].message.payload.isEmpty)
    #expect(log[2].message.payload.count == 35)
    #expect(log.floor == .none)
  }

  @Test func knowsUpToWhereNoTraceIsLeft() {
    var log = MessageLog(limit: 492, traceLimit: 2)
    _ = fill(&log, 1...9)
    #expect(log.entries(since: .none).map(\.message.number) == [5, 6, 7, 8, 9])
    #expect(log.floor == at(1, 4))
  }

  @Test("R6 The subjects of forgotten messages are bounded in bytes")
  func boundsSubjects() {
    var log = MessageLog(limit: 560, subjectLimit: 35)
    for number in 1...9 as ClosedRange<UInt64> {
      let message = Message(1, number, at: at(1, number), subject: "0123456789", payload: [1])
      log.append(LogEntry(message: message))
      while log.trim() != nil {}
    }
    // Four entries of 139 bytes, and three traces of ten.
    #expect(log.entries(since: .none).map(\.message.number) == [3, 4, 5, 6, 7, 8, 9])
    #expect(log.entries(since: .none).map(\.isForgotten).filter { $0 }.count == 3)
    #expect(log.floor == at(1, 2))
  }

  @Test func selectsByPosition() {
    var log = MessageLog(limit: 1_000)
    _ = fill(&log, 1...4)
    log.append(LogEntry(message: Message(2, 1)))
    #expect(log.entries(since: at(1, 3)).map(\.message.key.number) == [4, 1])
  }

  @Test func setsPositionsOfTracesAndEntries() {
    var log = MessageLog(limit: 100)
    _ = fill(&log, 1...2)
    log.append(LogEntry(message: Message(2, 1, at: at(1, 3))))
    log.setPositions(ofSender: 1, first: 1, count: 9, from: at(9, 1))
    #expect(log[0].isForgotten && log[0].message.position == at(9, 1))
    #expect(!log[1].isForgotten && log[1].message.position == at(9, 2))
    #expect(log[2].message.position == at(1, 3))
  }

  /// Each search goes on where the last one ended, also when older entries have gone since.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func setsPositionsInAnyOrder(seed: UInt64) {
    var random = SeededGenerator(seed)
    var log = MessageLog(limit: 2_000, traceLimit: 20)
    _ = fill(&log, 1...40)
    var newest: UInt64 = 40
    var positions: [UInt64: Position] = [:]
    for number in (1...40).shuffled(using: &random) as [UInt64] {
      if number % 4 == 0 {
        newest += 1
        _ = fill(&log, newest...newest)
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

  @Test func prefersPayloads() {
    var trace = LogEntry(message: Message(1, 1, at: at(1, 1), payload: [1]))
    let whole = trace
    trace.forget()
    for entries in [[trace, whole], [whole, trace]] {
      let merged = Recovered.merge(entries)
      #expect(merged.count == 1 && !merged[0].isForgotten && merged[0].message.payload == [1])
    }
    #expect(Recovered.merge([trace])[0].isForgotten)
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
