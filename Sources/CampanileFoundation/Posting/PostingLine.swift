/// The posts that wait: what comes next, and what takes back what.
struct PostingLine {
  private struct Entry {
    let id: UInt64
    let label: PostingLabel
    let key: String?
    let post: @Sendable () -> Void

    func coalesces(with label: PostingLabel, _ rule: PostingCoalescing.Rule) -> Bool {
      guard self.label.center == label.center else { return false }
      switch rule {
      case .nothing: return false
      case .type: return self.label.kind == label.kind
      case .subject: return self.label.hasSubject(of: label)
      case .typeAndSubject:
        return self.label.kind == label.kind && self.label.hasSubject(of: label)
      case .key(let key): return self.key == key
      }
    }
  }

  private var soon = WaitingLine<Entry>()
  private var idle = WaitingLine<Entry>()
  private var lastID: UInt64 = 0
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
    lastID += 1
    var key: String?
    if case .key(let given) = coalescing.rule { key = given }
    let entry = Entry(id: lastID, label: label, key: key, post: post)
    if whenIdle { idle.append(entry) } else { soon.append(entry) }
    defer { isScheduled = true }
    return (removed, !isScheduled)
  }

  mutating func remove(
    _ label: PostingLabel, _ coalescing: PostingCoalescing
  ) -> [@Sendable () -> Void] {
    if case .nothing = coalescing.rule { return [] }
    let rule = coalescing.rule
    let removed =
      soon.removeAll { $0.coalesces(with: label, rule) }
      + idle.removeAll { $0.coalesces(with: label, rule) }
    return removed.map(\.post)
  }

  /// - Returns: the last entry that this turn may post.
  mutating func beginTurn() -> UInt64 {
    isIdleTurn = soon.isEmpty
    return (isIdleTurn ? idle.first?.id : soon.last?.id) ?? 0
  }

  mutating func next(upTo last: UInt64) -> (@Sendable () -> Void)? {
    let entry =
      isIdleTurn ? idle.popFirst { $0.id <= last } : soon.popFirst { $0.id <= last }
    return entry?.post
  }

  /// - Returns: whether to ask for another turn.
  mutating func endTurn() -> Bool {
    isScheduled = count > 0
    return isScheduled
  }

  mutating func discard() -> [@Sendable () -> Void] {
    isScheduled = false
    discardedCount += count
    let discarded = soon.removeAll { _ in true } + idle.removeAll { _ in true }
    return discarded.map(\.post)
  }
}
