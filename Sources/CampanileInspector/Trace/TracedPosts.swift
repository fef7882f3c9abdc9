import Campanile

/// Collects the records of each post.
struct TracedPosts {
  private var posts: [UInt64: TracedPost] = [:]

  /// - Parameter isWanted: Which posts are collected, so that callers are looked up for no others.
  init(_ storage: TraceStorage, where isWanted: (TraceRecord) -> Bool) {
    let state = storage.current
    let records = state.records
    let start = records.first?.time ?? 0
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
          valueType: record.valueType,
          name: record.name, value: record.value, subject: record.subject,
          time: .nanoseconds(Int64(clamping: record.time - start)), thread: record.thread,
          callers: record.callers.flatMap { storage.callers?.callers($0) } ?? [],
          parents: parents)
      case .called:
        guard let delivery = record.delivery, let place = state.place(of: record)
        else { continue }
        let wait = record.time - min(record.began, record.time)
        open[delivery] = posts[number]?.calls.count
        posts[number]?.calls.append(
          TracedPost.Call(
            file: place.file, line: place.line, waited: .nanoseconds(Int64(clamping: wait))))
      case .returned:
        guard let delivery = record.delivery, let index = open.removeValue(forKey: delivery)
        else { continue }
        let took = record.time - min(record.began, record.time)
        posts[number]?.calls[index].took = .nanoseconds(Int64(clamping: took))
      default: continue
      }
    }
  }

  /// The posts, oldest first.
  var all: [TracedPost] { posts.values.sorted { $0.number < $1.number } }
}
