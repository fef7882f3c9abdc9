import Campanile

/// How much happened at a source with values of one type.
public struct TypeTotals: Sendable, CustomStringConvertible {
  /// What the source is called.
  public let source: String
  /// The type of the messages or values.
  public let valueType: any Any.Type
  /// How many were posted.
  public private(set) var postCount = 0
  /// How many calls of observers began.
  public private(set) var callCount = 0
  /// How many values found no room, or were given up with the target.
  public private(set) var droppedCount = 0
  /// How many deliveries were due while the registration was paused.
  public private(set) var skippedCount = 0
  /// How many calls have thrown.
  public private(set) var failureCount = 0

  /// The type, the source and the counts, in one line.
  public var description: String {
    var parts = ["\(valueType) at \(source): \(postCount) posts, \(callCount) calls"]
    if droppedCount > 0 { parts.append("\(droppedCount) dropped") }
    if skippedCount > 0 { parts.append("\(skippedCount) skipped") }
    if failureCount > 0 { parts.append("\(failureCount) failed") }
    return parts.joined(separator: ", ")
  }

  fileprivate static let counted: Set<SourceEvent.Kind> = [
    .posted, .called, .dropped, .skipped, .failed,
  ]

  fileprivate init(_ source: String, _ valueType: any Any.Type) {
    self.source = source
    self.valueType = valueType
  }

  fileprivate mutating func count(_ kind: SourceEvent.Kind) {
    switch kind {
    case .posted: postCount += 1
    case .called: callCount += 1
    case .dropped: droppedCount += 1
    case .skipped: skippedCount += 1
    case .failed: failureCount += 1
    default: break
    }
  }
}

/// A type of values at one source.
struct TypeKey: Hashable, Sendable {
  let source: UInt64
  let valueType: ObjectIdentifier
}

extension Trace {
  /// The counts of each type at each source, the most posted and called first.
  ///
  /// All events count since the trace began, also those that have given way. Observers of any
  /// message are counted by that type.
  public var totals: Report<TypeTotals> {
    let totals = storage.current.totals.values
    let sorted = totals.sorted { one, other in
      let (count, otherCount) = (one.postCount + one.callCount, other.postCount + other.callCount)
      return (otherCount, one.description) < (count, other.description)
    }
    return Report(sorted)
  }
}

extension TraceStorage.State {
  /// Adds a record to the counts of its type, which outlive the ring.
  mutating func total(note record: TraceRecord) {
    guard TypeTotals.counted.contains(record.kind) else { return }
    let key = TypeKey(source: record.source, valueType: ObjectIdentifier(record.valueType))
    let name = sources[record.source] ?? ""
    totals[key, default: TypeTotals(name, record.valueType)].count(record.kind)
  }
}
