import Campanile

/// How long the observers took that were registered at one line.
public struct ObserverTime: Sendable, CustomStringConvertible {
  /// The file in which they were registered, as `#fileID` names it.
  public let file: String
  /// The line at which they were registered.
  public let line: Int
  /// Where they run.
  public let delivery: String
  /// Whether they run in tasks of their own.
  public private(set) var isAsynchronous = false
  /// The type of the owner of the newest one; `nil` where a token bounds it.
  public private(set) var ownerType: (any AnyObject.Type)?
  /// How many calls have returned.
  public private(set) var callCount = 0
  /// How long the calls took together.
  ///
  /// The time from call to return. For an asynchronous observer that includes what it waited for.
  public private(set) var total = Duration.zero
  /// How much of ``total`` went into the observer itself, and not into other observers that its
  /// posts called before they returned.
  public private(set) var own = Duration.zero
  /// How long the longest call took.
  public private(set) var worst = Duration.zero
  /// How long the messages waited together, from post to call.
  public private(set) var waited = Duration.zero
  /// How long the message waited that waited longest.
  public private(set) var longestWait = Duration.zero
  /// How many values found no room, or were given up with the target.
  public internal(set) var droppedCount = 0
  /// How many deliveries were due while the registration was paused.
  public internal(set) var skippedCount = 0
  /// How many calls have thrown.
  public internal(set) var failureCount = 0

  /// How long a call took on average.
  public var mean: Duration { callCount == 0 ? .zero : total / callCount }

  init(_ place: ObserverPlace?) {
    file = place?.file ?? ""
    line = place?.line ?? 0
    delivery = place?.delivery ?? ""
  }

  mutating func noteCall(_ record: TraceRecord) {
    ownerType = record.ownerType
    isAsynchronous = record.isAsynchronous
    let wait = Duration.nanoseconds(Int64(clamping: record.time - min(record.began, record.time)))
    waited += wait
    longestWait = max(longestWait, wait)
  }

  mutating func noteReturn(_ record: TraceRecord) {
    let took = record.time - min(record.began, record.time)
    let duration = Duration.nanoseconds(Int64(clamping: took))
    callCount += 1
    total += duration
    own += .nanoseconds(Int64(clamping: took - min(record.nestedTime, took)))
    worst = max(worst, duration)
  }

  /// The place, the owner and the times, in one line.
  public var description: String {
    var parts = ["\(file):\(line)", "\(callCount) calls"]
    if let ownerType { parts.insert("owner \(ownerType)", at: 1) }
    parts.append("on \(delivery)")
    parts.append("mean \(mean.shortened), worst \(worst.shortened)")
    parts.append("own \(own.shortened) in all")
    parts.append("waited \(longestWait.shortened) at most")
    if droppedCount > 0 { parts.append("\(droppedCount) dropped") }
    if skippedCount > 0 { parts.append("\(skippedCount) skipped") }
    if failureCount > 0 { parts.append("\(failureCount) failed") }
    return parts.joined(separator: ", ")
  }
}

extension Duration {
  /// The duration in the unit that gives it one to three digits before the point.
  var shortened: String {
    let nanoseconds = Double(self / .nanoseconds(1))
    let (value, name): (Double, String) =
      switch nanoseconds {
      case ..<1e3: (nanoseconds, "ns")
      case ..<1e6: (nanoseconds / 1e3, "us")
      case ..<1e9: (nanoseconds / 1e6, "ms")
      default: (nanoseconds / 1e9, "s")
      }
    let tenths = (value * 10).rounded() / 10
    return "\(tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)") \(name)"
  }
}
