import Campanile

/// The counts of the events of one type at one source.
public struct TypeTotals: Sendable, CustomStringConvertible {
  /// The name of the source.
  public let source: String
  /// The number of the source, which is unique in the process.
  let sourceNumber: UInt64
  /// The type of the messages or values.
  public let valueType: any Any.Type
  /// The number of posts.
  public private(set) var postCount = 0
  /// The number of calls of observers.
  public private(set) var callCount = 0
  /// The number of values that were dropped by a full buffer, or with the end of the target.
  public private(set) var droppedCount = 0
  /// The number of deliveries that were skipped because the registration was paused.
  public private(set) var skippedCount = 0
  /// The number of calls that threw an error.
  public private(set) var failureCount = 0

  /// The type, the source and the counts, in one line.
  public var description: String {
    var parts = ["\(valueType) at \(source): \(postCount) posts, \(callCount) calls"]
    if droppedCount > 0 { parts.append("\(droppedCount) dropped") }
    if skippedCount > 0 { parts.append("\(skippedCount) skipped") }
    if failureCount > 0 { parts.append("\(failureCount) failed") }
    return parts.joined(separator: ", ")
  }

  fileprivate init(_ source: String, _ sourceNumber: UInt64, _ valueType: any Any.Type) {
    (self.source, self.sourceNumber, self.valueType) = (source, sourceNumber, valueType)
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
  /// The counts of each type at each source, the most frequent first.
  ///
  /// All events since the beginning of the trace count, including those that have been overwritten.
  /// Observers of any message are counted under that type.
  public var totals: Report<TypeTotals> {
    let sorted = storage.current.totals.sorted { one, other in
      let count = one.value.postCount + one.value.callCount
      let otherCount = other.value.postCount + other.value.callCount
      // Equal counts are ordered by source and type, so that the rows keep their places.
      return (otherCount, one.key.source, one.key.valueType)
        < (count, other.key.source, other.key.valueType)
    }
    return Report(sorted.map(\.value))
  }
}

extension TraceStorage.State {
  /// Adds a record to the counts of its type.
  ///
  /// The counts are kept when the ring overwrites the record.
  mutating func total(note record: TraceRecord) {
    switch record.kind {
    case .postReturned, .queued, .returned, .registered, .ended: return
    case .posted, .called, .dropped, .skipped, .failed: break
    }
    let key = TypeKey(source: record.source, valueType: ObjectIdentifier(record.valueType))
    guard let index = totals.index(forKey: key) else {
      var new = TypeTotals(sources[record.source]?.name ?? "", record.source, record.valueType)
      new.count(record.kind)
      totals[key] = new
      return
    }
    totals.values[index].count(record.kind)
  }
}
