import Campanile

/// Makes the calls of one key path one after the other, in the order in which they were added.
///
/// Any thread may add calls, and one thread at a time makes them. A call that is added meanwhile, by
/// an observer or by another thread, is made by that thread. No lock is held during a call.
struct Teller: ~Copyable, Sendable {
  // Not private: the compiler makes a broken object file of a class in another file that stores a
  // `Teller` then.
  /// Protected by the lock.
  struct State {
    var isTelling = false
    var waiting = Fifo<() -> Void>()

    /// Takes the next call for the thread whose turn it is, or for one that would like a turn.
    ///
    /// Without a waiting call, the turn ends.
    mutating func next(isMyTurn: Bool) -> (() -> Void)? {
      if isTelling && !isMyTurn { return nil }
      let call = waiting.popFirst()
      isTelling = call != nil
      return call
    }
  }

  // SAFETY: the calls stay in the isolation of the observed object, or any thread may make them.
  private let state = UncheckedLock(State())

  /// How many calls a thread makes before it offers the rest to other threads.
  private static var limit: Int { 64 }

  /// Begins a turn for a call that need not be added, because nothing is ahead of it.
  ///
  /// - Returns: Whether the turn has begun. If so, `end()` must follow.
  func begin() -> Bool {
    state.withLock { state in
      if state.isTelling || !state.waiting.isEmpty { return false }
      state.isTelling = true
      return true
    }
  }

  /// Makes the calls that were added during the turn, and ends the turn.
  @inline(__always)
  func end() {
    let hasMore = state.withLock { state in
      state.isTelling = !state.waiting.isEmpty
      return state.isTelling
    }
    if hasMore { makeCalls(isMyTurn: true) }
  }

  func add(_ call: @escaping () -> Void) { state.withLock { $0.waiting.append(call) } }

  /// Makes the calls that wait, unless another thread is making them.
  func makeCalls() { makeCalls(isMyTurn: false) }

  private func makeCalls(isMyTurn: Bool) {
    var isMyTurn = isMyTurn
    var count = 0
    while true {
      var call: (() -> Void)?
      state.withLock { [isMyTurn] in call = $0.next(isMyTurn: isMyTurn) }
      guard let call else { return }
      isMyTurn = true
      call()
      count += 1
      if count % Self.limit == 0 {
        // So that a setter returns although other threads keep adding calls: one of them takes the
        // turn, if it adds a call before this thread is back.
        state.withLock { $0.isTelling = false }
        isMyTurn = false
        for _ in 0..<(1 << min(count / Self.limit, 7)) { SourceRegistry.linger() }
      }
    }
  }
}
