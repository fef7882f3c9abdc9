/// The waiting posts: which is posted next, and which posts a new one replaces.
struct PostingLine {
  private struct Entry {
    let label: PostingLabel
    let post: @Sendable () -> Void
  }

  private var soon = WaitingLine<PostingLabel.Key, Entry>()
  private var idle = WaitingLine<PostingLabel.Key, Entry>()
  /// Whether a turn has been requested, or is in progress.
  private var isScheduled = false
  /// Whether the turn in progress is for posts that wait for an idle place.
  private var isIdleTurn = false
  private(set) var discardedCount = 0

  var count: Int { soon.count + idle.count }

  /// - Returns: The removed posts, to be released outside the lock, and whether to request a turn.
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

  /// - Returns: The last entry that this turn may post.
  mutating func beginTurn() -> UInt64 {
    isIdleTurn = soon.isEmpty
    return (isIdleTurn ? idle.firstID : soon.newestID) ?? 0
  }

  mutating func next(upTo last: UInt64) -> (@Sendable () -> Void)? {
    (isIdleTurn ? idle.popFirst(upTo: last) : soon.popFirst(upTo: last))?.post
  }

  /// - Returns: Whether to request another turn.
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
