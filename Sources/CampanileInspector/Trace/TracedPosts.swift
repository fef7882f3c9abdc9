import Campanile

/// Collects the records of each post.
struct TracedPosts {
  private var posts: [UInt64: TracedPost] = [:]

  /// Collects the kept posts that are wanted, so that callers are looked up for no others.
  init(_ storage: TraceStorage, where isWanted: (TraceRecord) -> Bool) {
    let state = storage.current
    self.init(state.records, state, where: isWanted) { storage.callers?.callers($0) }
  }

  /// Collects the last posts, at a cost that does not depend on how many are kept.
  ///
  /// Callers that have not been looked up yet are left out, and then looked up elsewhere.
  init(last count: Int, _ storage: TraceStorage) {
    let state = storage.current
    self.init(state.ring.last(posts: count), state, where: { _ in true }) {
      storage.callers?.knownCallers($0)
    }
  }

  private init(
    _ records: [TraceRecord], _ state: TraceStorage.State, where isWanted: (TraceRecord) -> Bool,
    callers: (UInt32) -> [Caller]?
  ) {
    var parents: [UInt64: UInt64] = [:]
    for record in records where record.kind == .posted {
      if let number = record.post { parents[number] = record.parent }
    }
    var open: [DeliveryKey: Int] = [:]
    for record in records {
      guard let number = record.post else { continue }
      switch record.kind {
      case .posted where isWanted(record):
        posts[number] = TracedPost(
          number: number, source: state.sources[record.source]?.name ?? "",
          valueType: record.valueType, name: record.name, value: record.value,
          subject: record.subject, time: .init(ofEvent: record.nanoseconds), thread: record.thread,
          knownCallers: record.callers.map(callers) ?? [], parents: parents)
      case .called:
        guard let delivery = record.delivery, let place = state.place(of: record)
        else { continue }
        open[delivery] = posts[number]?.calls.count
        posts[number]?.calls.append(
          TracedPost.Call(file: place.file, line: place.line, waited: record.elapsed))
      case .returned:
        guard let delivery = record.delivery, let index = open.removeValue(forKey: delivery)
        else { continue }
        posts[number]?.calls[index].took = record.elapsed
      default: continue
      }
    }
  }

  /// The posts, oldest first.
  var all: [TracedPost] { posts.values.sorted { $0.number < $1.number } }
}
