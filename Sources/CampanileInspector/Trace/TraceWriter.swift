import Campanile

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Makes the entries of a trace file from the records.
struct TraceWriter {
  private let state: TraceStorage.State
  private let records: [TraceRecord]
  /// The time at which the file begins: the earliest that a slice may begin at.
  private let start: UInt64
  private let callers: CallerTable?
  private let process = ProcessInfo.processInfo.processIdentifier
  private var lanes = TaskLanes()
  private var out: [TraceEntry] = []
  /// The posts, by their numbers.
  private var posts: [UInt64: TraceRecord] = [:]
  /// The queued records of deliveries that have not been called yet.
  private var queued: [DeliveryKey: TraceRecord] = [:]
  private var calls: [DeliveryKey: TraceRecord] = [:]
  private var openPosts: [UInt64: TraceRecord] = [:]
  private var waiting = WaitingCounts()
  /// Where the trace was stopped last.
  private var lastStop: UInt64 = 0
  private var nextArrow: UInt64 = 1

  init(_ storage: TraceStorage) {
    state = storage.current
    records = state.records
    // The first kept record may be part of a call whose end is kept, too, and which began before it.
    start = records.map { min($0.nanoseconds, $0.beganNanoseconds) }.min() ?? 0
    callers = storage.callers
  }

  mutating func entries() -> [TraceEntry] {
    addNames()
    var stops = state.stops[...]
    for record in records {
      while let stop = stops.first, stop <= record.nanoseconds {
        endAll(at: stop)
        stops.removeFirst()
      }
      if let place = state.place(of: record), let count = waiting.take(record, at: place) {
        addCounter(place.delivery, count, record.nanoseconds)
      }
      add(record)
    }
    if let stop = stops.first { endAll(at: stop) }
    endCalls(at: records.last?.nanoseconds ?? 0)
    return out
  }

  /// Ends what is open where the trace was stopped: what came later was not recorded.
  private mutating func endAll(at stop: UInt64) {
    lastStop = stop
    endCalls(at: stop)
    for delivery in waiting.clear() { addCounter(delivery, 0, stop) }
    queued = [:]
  }

  /// Ends posts and calls that had not returned, or whose end is not kept.
  private mutating func endCalls(at end: UInt64) {
    for post in openPosts.values {
      addPost(post, until: lastTime(of: post, until: end), isOpen: true)
    }
    for call in calls.values {
      addCall(call, since: call.nanoseconds, until: lastTime(of: call, until: end), isOpen: true)
    }
    (openPosts, calls) = ([:], [:])
  }

  /// The time until which the return of a post or call would have been recorded.
  private func lastTime(of record: TraceRecord, until end: UInt64) -> UInt64 {
    min(end, state.sources[record.source]?.end ?? end)
  }

  private mutating func add(_ record: TraceRecord) {
    let isReturn = record.kind == .postReturned || record.kind == .returned
    // It ended where the trace was stopped.
    if isReturn && record.beganNanoseconds < lastStop { return }
    switch record.kind {
    case .posted:
      guard let number = record.post else { return }
      posts[number] = record
      openPosts[number] = record
    case .postReturned:
      guard let number = record.post else { return }
      // Its beginning may have been overwritten.
      let post = openPosts.removeValue(forKey: number) ?? record
      addPost(post, until: record.nanoseconds, isOpen: false)
    case .queued:
      if let delivery = record.delivery { queued[delivery] = record }
    case .called:
      if let delivery = record.delivery { calls[delivery] = record }
    case .returned:
      if let delivery = record.delivery { calls[delivery] = nil }
      addCall(record, since: record.beganNanoseconds, until: record.nanoseconds, isOpen: false)
    case .dropped, .skipped, .failed, .registered, .ended: addMark(record)
    }
  }

  // MARK: Entries

  private func time(_ nanoseconds: UInt64) -> Double {
    Double(nanoseconds - min(start, nanoseconds)) / 1_000
  }

  private func entry(
    _ phase: TraceEntry.Phase, _ name: String, on thread: UInt64, at nanoseconds: UInt64
  ) -> TraceEntry {
    TraceEntry(ph: phase, name: name, pid: process, tid: thread, ts: time(nanoseconds))
  }

  private mutating func addNames() {
    var name = TraceEntry(ph: .name, name: "process_name", pid: process, tid: 0)
    name.args = ["name": .text(ProcessInfo.processInfo.processName)]
    out.append(name)
    let used = Set(records.map(\.thread))
    for (thread, text) in state.threads where used.contains(thread) {
      addThreadName("\(text) \(thread)", thread)
    }
  }

  private mutating func addThreadName(_ text: String, _ thread: UInt64) {
    var name = TraceEntry(ph: .name, name: "thread_name", pid: process, tid: thread)
    name.args = ["name": .text(text)]
    out.append(name)
  }

  private mutating func addPost(_ post: TraceRecord, until end: UInt64, isOpen: Bool) {
    let began = min(post.beganNanoseconds, end)
    var slice = entry(
      .slice, "post \(post.name ?? "\(post.valueType)")", on: post.thread, at: began)
    slice.cat = "post"
    slice.dur = Double(end - began) / 1_000
    var arguments = arguments(of: post, isOpen: isOpen)
    arguments["cause"] = post.parent.map { .number($0) }
    arguments["value"] = post.value.map { .text($0) }
    let stack = post.callers.flatMap { callers?.callers($0) } ?? []
    arguments["from"] = stack.first.map { .text($0.description) }
    if stack.count > 1 {
      arguments["callers"] = .text(stack.map(\.description).joined(separator: "\n"))
    }
    slice.args = arguments
    out.append(slice)
  }

  private mutating func addCall(
    _ record: TraceRecord, since start: UInt64, until end: UInt64, isOpen: Bool
  ) {
    let place = state.place(of: record)
    let name = place.map { "\($0.file):\($0.line)" } ?? "observer"
    var thread = record.thread
    let start = min(start, end)
    if record.isAsynchronous {
      let lane = lanes.take(record.place, from: start, to: end)
      thread = lane.track
      if lane.isNew { addThreadName("\(name) in tasks", lane.track) }
    }
    var slice = entry(.slice, name, on: thread, at: start)
    slice.cat = "call"
    slice.dur = Double(end - start) / 1_000
    var arguments = arguments(of: record, isOpen: isOpen)
    arguments["owner"] = record.ownerType.map { .text("\($0)") }
    arguments["delivery"] = place.map { .text($0.delivery) }
    slice.args = arguments
    out.append(slice)
    if let delivery = record.delivery, let wait = queued.removeValue(forKey: delivery) {
      addArrow(from: wait, to: thread, at: start)
    }
  }

  private mutating func addArrow(from queued: TraceRecord, to thread: UInt64, at time: UInt64) {
    var start = entry(.arrowStart, "waits", on: queued.thread, at: queued.nanoseconds)
    var end = entry(.arrowEnd, "waits", on: thread, at: time)
    end.bp = "e"
    (start.id, end.id) = (nextArrow, nextArrow)
    (start.cat, end.cat) = ("delivery", "delivery")
    nextArrow += 1
    out += [start, end]
  }

  private mutating func addMark(_ record: TraceRecord) {
    let place = state.place(of: record)
    let name = "\(record.kind) \(place.map { "\($0.file):\($0.line)" } ?? "")"
    var mark = entry(.mark, name, on: record.thread, at: record.nanoseconds)
    mark.cat = "\(record.kind)"
    mark.s = "t"
    mark.args = arguments(of: record, isOpen: false)
    out.append(mark)
  }

  private mutating func addCounter(_ delivery: String, _ count: Int, _ time: UInt64) {
    var counter = entry(.counter, "waiting on \(delivery)", on: 0, at: time)
    counter.args = ["deliveries": .number(UInt64(max(count, 0)))]
    out.append(counter)
  }

  private func arguments(
    of record: TraceRecord, isOpen: Bool
  ) -> [String: TraceEntry.Argument] {
    var arguments: [String: TraceEntry.Argument] = ["type": .text("\(record.valueType)")]
    arguments["post"] = record.post.map { .number($0) }
    arguments["source"] = state.sources[record.source].map { .text($0.name) }
    arguments["registration"] = record.registration.map { .number($0) }
    if isOpen {
      arguments["unfinished"] = .text("had not returned when the trace or the source ended")
    }
    return arguments
  }
}

/// Tracks for the calls of asynchronous observers, which have no thread of their own.
private struct TaskLanes {
  private var lanes: [Int?: [(track: UInt64, end: UInt64)]] = [:]
  /// Greater than any number of a thread, and of 32 bits: Perfetto keeps no more.
  private var nextTrack: UInt64 = 1 << 31

  /// A track of the observers of one place on which nothing runs at that time.
  mutating func take(
    _ place: Int?, from start: UInt64, to end: UInt64
  ) -> (track: UInt64, isNew: Bool) {
    var own = lanes[place] ?? []
    defer { lanes[place] = own }
    if let free = own.firstIndex(where: { $0.end <= start }) {
      own[free].end = end
      return (own[free].track, false)
    }
    own.append((nextTrack, end))
    nextTrack += 1
    return (nextTrack - 1, true)
  }
}

/// Counts the waiting deliveries of each place.
struct WaitingCounts {
  private var counts: [String: Int] = [:]
  /// The observers that have ended.
  ///
  /// Another thread may have queued a delivery just before.
  private var ended: Set<ObserverKey> = []
  /// How often each post waits for an observer.
  private var open: [ObserverKey: [UInt64?: Int]] = [:]

  /// Processes a record.
  ///
  /// - Returns: The number of waiting deliveries, if it has changed.
  mutating func take(_ record: TraceRecord, at place: ObserverTime) -> Int? {
    guard let observer = record.observer, place.delivery != "a sequence" else { return nil }
    let change: Int
    switch record.kind {
    case .queued:
      if ended.contains(observer) { return nil }
      open[observer, default: [:]][record.post, default: 0] += 1
      change = 1
    // Of a delivery that was not queued, these say nothing about others that are.
    case .called, .skipped, .dropped:
      guard let count = open[observer]?[record.post] else { return nil }
      open[observer]?[record.post] = count == 1 ? nil : count - 1
      change = -1
    // Waiting deliveries of an ended observer are not made.
    case .ended:
      ended.insert(observer)
      change = -(open.removeValue(forKey: observer)?.values.reduce(0, +) ?? 0)
    default: return nil
    }
    if change == 0 { return nil }
    counts[place.delivery, default: 0] += change
    return counts[place.delivery]
  }

  /// Forgets everything, and returns the deliveries that had waiting ones.
  mutating func clear() -> [String] {
    defer { self = Self() }
    return counts.filter { $0.value > 0 }.map(\.key)
  }
}
