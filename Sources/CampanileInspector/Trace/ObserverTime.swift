import Campanile

/// The times of the observers that were registered at one line, with one delivery.
public struct ObserverTime: Sendable, CustomStringConvertible {
  /// The file in which they were registered, as `#fileID` names it.
  public let file: String
  /// The line at which they were registered.
  public let line: Int
  /// Where they run.
  public let delivery: String
  /// Whether they run in tasks.
  public private(set) var isAsynchronous = false
  /// The type of the newest owner; `nil` if a token keeps the observer.
  public private(set) var ownerType: (any AnyObject.Type)?
  /// The calls that had not returned when the times were read, oldest first.
  public internal(set) var callsInProgress: [CallInProgress] = []
  /// The number of calls that have returned.
  public private(set) var callCount = 0
  /// The total time of the calls.
  ///
  /// The time of a call is measured from call to return. For an asynchronous observer, that
  /// includes its suspensions.
  public private(set) var total = Duration.zero
  /// The part of ``total`` that the observers took themselves, without the observers that their
  /// posts called.
  public private(set) var own = Duration.zero
  /// The time of the longest call.
  public private(set) var worst = Duration.zero
  /// The total time that messages waited, from post to call.
  public private(set) var waited = Duration.zero
  /// The longest time that a message waited.
  public private(set) var longestWait = Duration.zero
  /// The number of values that were dropped by a full buffer, or with the end of the target.
  public private(set) var droppedCount = 0
  /// The number of deliveries that were skipped because the registration was paused.
  public private(set) var skippedCount = 0
  /// The number of calls that threw an error.
  public private(set) var failureCount = 0

  /// Whether an event has counted.
  private(set) var isCounted = false

  /// Where the row stands: what runs now, what waits for that, what does not run, and tasks.
  var rank: Int {
    if callsInProgress.isEmpty { return isAsynchronous ? 3 : 2 }
    return callsInProgress[0].isWaiting ? 1 : 0
  }

  /// The mean time of a call.
  public var mean: Duration { callCount == 0 ? .zero : total / callCount }

  init(file: String, line: Int, delivery: String) {
    (self.file, self.line, self.delivery) = (file, line, delivery)
  }

  mutating func note(_ record: TraceRecord) {
    let duration = record.elapsed
    switch record.kind {
    case .called:
      (ownerType, isAsynchronous) = (record.ownerType, record.isAsynchronous)
      waited += duration
      longestWait = max(longestWait, duration)
    case .returned:
      callCount += 1
      total += duration
      own += max(.zero, duration - .nanoseconds(Int64(clamping: record.nestedNanoseconds)))
      worst = max(worst, duration)
    case .dropped: droppedCount += 1
    case .skipped: skippedCount += 1
    case .failed: failureCount += 1
    case .posted, .postReturned, .queued, .registered, .ended: return
    }
    isCounted = true
  }

  /// The place, the owner and the times, in one line.
  public var description: String {
    var parts = ["\(file):\(line)", "\(callCount) calls"]
    if let ownerType { parts.insert("owner \(ownerType)", at: 1) }
    if let call = callsInProgress.first {
      parts.append("one in progress for \(call.age.shortened)")
      if call.waitingCount > 0 { parts.append("\(call.waitingCount) waiting behind it") }
    }
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
  /// The duration, in the unit that gives it one to three digits before the decimal point.
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
