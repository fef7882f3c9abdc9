/// The posts that wait: what comes next, and what takes back what.
struct PostingLine {
  private struct Entry {
    let label: PostingLabel
    let post: @Sendable () -> Void
  }

  private var soon = WaitingLine<PostingLabel.Key, Entry>()
  private var idle = WaitingLine<PostingLabel.Key, Entry>()
  /// Whether a turn has been asked for, or is in progress.
  private var isScheduled = false
  /// Whether the turn in progress is for what can wait.
  private var isIdleTurn = false
  private(set) var discardedCount = 0

  var count: Int { soon.count + idle.count }

  /// - Returns: what was taken back, to be released outside the lock, and whether to ask for a
  ///   turn.
  mutating func enqueue(
    _ label: PostingLabel, whenIdle: Bool, _ coalescing: PostingCoalescing,
    _ post: @escaping @Sendable () -> Void
  ) -> (removed: [@Sendable () -> Void], mustSchedule: Bool) {
    let removed = remove(label, coalescing)
    let (entry, keys) = (Entry(label: label, post: post), label.keys(coalescing.rule))
    if whenIdle { idle.append(entry, labels: keys) } else { soon.append(entry, labels: keys) }
    defer { isScheduled = true }
    return (removed, !isScheduled)
  }

  mutating func remove(
    _ label: PostingLabel, _ coalescing: PostingCoalescing
  ) -> [@Sendable () -> Void] {
    guard let key = label.key(for: coalescing.rule) else { return [] }
    return (soon.removeAll(labeled: key) + idle.removeAll(labeled: key)).map(\.post)
  }

  /// - Returns: the last entry that this turn may post.
  mutating func beginTurn() -> UInt64 {
    isIdleTurn = soon.isEmpty
    return (isIdleTurn ? idle.firstID : soon.newestID) ?? 0
  }

  mutating func next(upTo last: UInt64) -> (@Sendable () -> Void)? {
    (isIdleTurn ? idle.popFirst(upTo: last) : soon.popFirst(upTo: last))?.post
  }

  /// - Returns: whether to ask for another turn.
  mutating func endTurn() -> Bool {
    isScheduled = count > 0
    return isScheduled
  }

  mutating func discard() -> [@Sendable () -> Void] {
    isScheduled = false
    discardedCount += count
    return (soon.removeAll() + idle.removeAll()).map(\.post)
  }
}
