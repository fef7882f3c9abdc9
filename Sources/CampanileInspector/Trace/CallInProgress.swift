public import Campanile
import Dispatch

/// A call of an observer that has begun and has not returned.
public struct CallInProgress: Sendable, CustomStringConvertible {
  /// The file in which the observer was registered, as `#fileID` names it.
  public let file: String
  /// The line at which the observer was registered.
  public let line: Int
  /// Where the observer runs.
  public let delivery: String
  /// The type of the observer's owner; `nil` if a token keeps the registration.
  public let ownerType: (any AnyObject.Type)?
  /// The type of the message or value.
  public let valueType: any Any.Type
  /// The system's number of the thread on which the call began.
  public let thread: UInt64
  /// The name of that thread.
  public let threadName: String
  /// When the call began.
  public let began: ContinuousClock.Instant
  /// How long it had taken when this description was made.
  public let age: Duration
  /// Whether the call only waits for another one: its post has called an observer on the same thread.
  public let isWaiting: Bool
  /// The number of deliveries that wait behind the call, in the observer's buffer or for its place.
  ///
  /// They are counted for a call that has taken a tenth of a second.
  public let waitingCount: Int
  /// The age from which on a call is worth a look.
  static let shown = Duration.milliseconds(100)
  /// The number of the observer's place.
  let place: Int
  /// Tells the call from every other one in progress.
  let key: DeliveryKey

  /// The place, the owner, the age and the thread, in one line.
  public var description: String {
    let owner = ownerType.map { ", owner \($0)" } ?? ""
    let waiting = waitingCount > 0 ? ", \(waitingCount) waiting" : ""
    return "\(file):\(line)\(owner), in progress for \(age.shortened) on \(delivery), "
      + "thread \(threadName) \(thread)\(waiting)\(isWaiting ? ", waits for a nested call" : "")"
  }
}

/// The calls that have begun and not returned.
///
/// It keeps the lists of their observers. What is removed is returned, to be released outside the lock.
struct OpenCalls {
  typealias Call = (record: TraceRecord, registration: Registration?)
  /// The calls of each thread, the outermost first.
  private var threads: [UInt64: [Call]] = [:]
  private var tasks: [DeliveryKey: Call] = [:]

  mutating func note(_ record: TraceRecord, _ registration: Registration?) -> ArraySlice<Call> {
    let hasBegun = record.kind == .called
    guard hasBegun || record.kind == .returned, let call = record.call else { return [] }
    if record.isAsynchronous {
      tasks[call] = hasBegun ? (record, registration) : nil
      return []
    }
    if hasBegun {
      threads[record.thread, default: []].append((record, registration))
      return []
    }
    guard let list = threads.index(forKey: record.thread),
      let index = threads.values[list].lastIndex(where: { $0.record.call == call })
    else { return [] }
    // The calls above it have ended without an event. Of its own list, the caller has a reference.
    let above = index + 1..<threads.values[list].count
    let ended = above.isEmpty ? [] : threads.values[list][above]
    threads.values[list].removeSubrange(index...)
    // An empty list stays for the next call of the thread, unless there are many.
    if threads.count > 64, threads.values[list].isEmpty { threads.remove(at: list) }
    return ended
  }

  /// Forgets the calls of a source that was released: their ends are not reported.
  mutating func forget(_ source: UInt64) {
    threads = threads.mapValues { $0.filter { $0.record.source != source } }
    tasks = tasks.filter { $0.value.record.source != source }
  }

  /// The calls, each with whether it waits for a nested one.
  var all: [(call: Call, isWaiting: Bool)] {
    threads.values.flatMap { calls in
      calls.enumerated().map { ($0.element, $0.offset < calls.count - 1) }
    } + tasks.values.map { ($0, false) }
  }
}

extension Trace {
  /// The calls in progress, the longest first, and behind them those that wait for a nested call.
  func callsInProgress(in state: TraceStorage.State) -> [CallInProgress] {
    let now = DispatchTime.now().uptimeNanoseconds
    let calls = state.openCalls.all.compactMap { call, isWaiting -> CallInProgress? in
      let record = call.record
      guard let number = record.place, let key = record.call else { return nil }
      let place = state.places[number]
      let age = Duration.nanoseconds(now - min(record.nanoseconds, now))
      let waitingCount = age < CallInProgress.shown ? 0 : call.registration?.backlog ?? 0
      return CallInProgress(
        file: place.file, line: place.line, delivery: place.delivery,
        ownerType: record.ownerType, valueType: record.valueType, thread: record.thread,
        threadName: state.threads[record.thread] ?? "thread",
        began: .init(ofEvent: record.nanoseconds),
        age: age, isWaiting: isWaiting, waitingCount: waitingCount, place: number,
        key: key)
    }
    return calls.sorted { ($1.isWaiting ? 1 : 0, $0.age) > ($0.isWaiting ? 1 : 0, $1.age) }
  }

  /// Reports calls of observers that take longer than a limit, while they still run, each once.
  ///
  /// ```swift
  /// token = trace.stuck(longerThan: .seconds(2)).observe { call in log.warning("\(call)") }
  /// ```
  ///
  /// Observers are called on a queue of the trace, which looks at the calls a few times within the
  /// limit. A call that waits for a nested one is not reported: the nested one is. The trace keeps the
  /// source, which ends with it.
  ///
  /// - Parameter limit: The longest time that a call may take. Below a millisecond, it is a
  ///   precondition failure.
  public func stuck(longerThan limit: Duration) -> Signal<CallInProgress> {
    require(limit >= .milliseconds(1), "Calls that take longer than \(limit) were to be reported")
    let (watch, isNew) = watches.withLock { watches in
      if let known = watches[limit] { return (known, false) }
      let watch = StuckWatch(limit)
      watches[limit] = watch
      return (watch, true)
    }
    if isNew {
      watch.look { [weak self] in self.map { $0.callsInProgress(in: $0.storage.current) } }
    }
    return watch.calls.signal
  }
}

/// Looks for calls that take longer than a limit.
final class StuckWatch: Sendable {
  let calls = Broadcaster<CallInProgress>()
  private let limit: Duration
  private let queue = DispatchQueue(label: "campanile.stuck")
  /// The calls that have been reported and not returned.
  private let known = Locked<Set<DeliveryKey>>([])

  init(_ limit: Duration) { self.limit = limit }

  /// Looks at the calls from now on, until there is no trace any more.
  ///
  /// A queue does it, and no task: the calls may keep all threads of tasks busy.
  func look(at calls: @escaping @Sendable () -> [CallInProgress]?) {
    let step = min(max(limit / 4, .milliseconds(1)), .seconds(1))
    queue.asyncAfter(deadline: .now() + .nanoseconds(Int(step / .nanoseconds(1)))) { [weak self] in
      guard let self, let found = self.calls.observerCount == 0 ? [] : calls() else { return }
      let stuck = found.filter { !$0.isWaiting && $0.age > limit }
      let reported = known.withLock { known in
        defer { known = Set(stuck.map(\.key)) }
        return known
      }
      for call in stuck where !reported.contains(call.key) { self.calls.send(call) }
      look(at: calls)
    }
  }
}
