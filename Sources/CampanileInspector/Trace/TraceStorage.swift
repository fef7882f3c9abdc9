import Campanile
import Dispatch

/// The recorded events of a trace.
///
/// It is protected by a lock, which is held for some hundred nanoseconds for each event. The call
/// stack is captured before the lock is taken.
final class TraceStorage: Sendable {
  struct State {
    /// The newest records.
    var ring: TraceRing
    var overwrittenCount = 0
    /// The places with their times, by number.
    fileprivate(set) var places: [ObserverTime] = []
    /// The deliveries of each line: few, so that to compare is cheaper than to hash.
    private var placeNumbers: [CallSite: [(delivery: String, number: Int)]] = [:]
    /// When the trace was stopped.
    var stops: [UInt64] = []
    var totals: [TypeKey: TypeTotals] = [:]
    fileprivate(set) var openCalls = OpenCalls()
    fileprivate(set) var sources: [UInt64: Source] = [:]
    /// The numbers of the sources that are recorded, until they are released.
    fileprivate var followed: [ObjectIdentifier: UInt64] = [:]
    /// The last source and observation that were found to belong together.
    fileprivate var newestFollowed: (source: UInt64, follower: ObjectIdentifier, run: Int)?
    var threads: [UInt64: String] = [:]
    /// The number of threads at which the names of those without records are forgotten.
    private var threadLimit = 1_024

    init(ring: TraceRing) { self.ring = ring }

    /// The records in the order in which they happened.
    var records: [TraceRecord] { ring.records.sorted { $0.nanoseconds < $1.nanoseconds } }

    func place(of record: TraceRecord) -> ObserverTime? { record.place.map { places[$0] } }

    /// The number of a place.
    mutating func placeNumber(
      _ site: CallSite?, _ delivery: @autoclosure () -> String?
    ) -> Int? {
      guard let site else { return nil }
      let delivery = delivery() ?? ""
      let known = placeNumbers[site]?.first { $0.delivery == delivery }
      if let known { return known.number }
      placeNumbers[site, default: []].append((delivery, places.count))
      places.append(ObserverTime(file: site.fileName, line: site.line, delivery: delivery))
      return places.count - 1
    }

    /// Stores the name of a thread.
    ///
    /// A thread that is forgotten is named again at its next event.
    mutating func name(_ thread: UInt64, _ name: String) {
      if threads.count >= threadLimit {
        let used = ring.threads
        threads = threads.filter { used.contains($0.key) }
        threadLimit = max(1_024, 2 * threads.count)
      }
      threads[thread] = name
    }
  }

  /// A source whose events were recorded.
  struct Source {
    let name: String
    fileprivate let follower: ObjectIdentifier
    fileprivate let run: Int
    /// When it was released; `nil` if the trace was stopped before.
    fileprivate(set) var end: UInt64?
  }

  /// An observation of the events of a source that was added.
  ///
  /// Two such sources may have the same events, such as those of two names in one center. The first
  /// one whose event arrives records all of them, until the trace is stopped.
  ///
  /// Only the observation keeps it. So it is released when the source is, or the trace is stopped.
  final class Follower: Sendable {
    /// How often the trace was stopped before.
    let run: Int
    private let storage: TraceStorage

    init(run: Int, _ storage: TraceStorage) { (self.run, self.storage) = (run, storage) }

    deinit { storage.noteEnd(of: ObjectIdentifier(self)) }
  }

  /// Whether the descriptions of posted values are kept.
  ///
  /// Events have them if any observer of the events asks for them.
  let takesValues: Bool
  let callers: CallerTable?
  private let state: Locked<State>

  init(capacity: Int, takesValues: Bool, takesCallers: Bool) {
    state = Locked(State(ring: TraceRing(capacity: capacity)))
    self.takesValues = takesValues
    callers = takesCallers ? CallerTable() : nil
  }

  var current: State { state.withLock { $0 } }

  /// Records an event, on the thread on which it happened.
  ///
  /// - Parameter sourceName: The name of the source.
  func record(_ event: SourceEvent, _ sourceName: String, by follower: Follower) {
    let value = takesValues ? event.value?.beginning(1_000) : nil
    let callers = event.kind == .posted ? callers?.number(at: event.nanoseconds) : nil
    let (isKnown, ended) = state.withLock { state -> (Bool, ArraySlice<OpenCalls.Call>) in
      // Another observation records it, and knows the thread.
      if !state.follows(event.sourceNumber, sourceName, follower) { return (true, []) }
      // Not changed below: a variable is copied for each function that it is passed to.
      let record = TraceRecord(
        event, place: state.placeNumber(event.place, event.delivery),
        parentPlace: state.placeNumber(event.cause?.place, event.cause?.delivery),
        callers: callers, value: value)
      if let place = record.place { state.places[place].note(record) }
      state.total(note: record)
      let ended = state.openCalls.note(record, event.registration)
      if state.ring.append(record) { state.overwrittenCount += 1 }
      return (state.threads[record.thread] != nil, ended)
    }
    withExtendedLifetime(ended) {}
    if !isKnown { name(event.thread) }
  }

  /// Prepares for a stop: sources end with the trace, and ends of calls are not recorded any more.
  func prepareStop() {
    let calls = state.withLock { state in
      defer { (state.followed, state.openCalls) = ([:], OpenCalls()) }
      return state.openCalls
    }
    withExtendedLifetime(calls) {}
  }

  /// Notes that the sources are not followed any more.
  func noteStop() {
    let now = DispatchTime.now().uptimeNanoseconds
    state.withLock { $0.stops = $0.stops.suffix(1_023) + [now] }
  }

  private func noteEnd(of follower: ObjectIdentifier) {
    let now = DispatchTime.now().uptimeNanoseconds
    let calls = state.withLock { state in
      let calls = state.openCalls
      guard let number = state.followed.removeValue(forKey: follower) else { return calls }
      state.sources[number]?.end = now
      state.openCalls.forget(number)
      return calls
    }
    withExtendedLifetime(calls) {}
  }

  private func name(_ thread: UInt64) {
    let name = ThreadName.current
    state.withLock { $0.name(thread, name) }
  }
}

extension TraceStorage.State {
  /// Whether an observation is the one that records the events of a source.
  fileprivate mutating func follows(
    _ number: UInt64, _ name: String, _ follower: TraceStorage.Follower
  ) -> Bool {
    let id = ObjectIdentifier(follower)
    if let newestFollowed, newestFollowed == (number, id, follower.run) { return true }
    if let known = sources[number], known.run >= follower.run {
      guard known.follower == id else { return false }
    } else {
      if let known = sources[number] { followed[known.follower] = nil }
      sources[number] = TraceStorage.Source(name: name, follower: id, run: follower.run)
      followed[id] = number
    }
    newestFollowed = (number, id, follower.run)
    return true
  }
}

extension String {
  /// The text, or its first scalars and an ellipsis.
  fileprivate func beginning(_ count: Int) -> String {
    if utf8.count <= count { return self }
    let beginning = unicodeScalars.prefix(count)
    return beginning.endIndex == endIndex ? self : String(beginning) + "…"
  }
}
