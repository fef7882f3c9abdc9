/// Makes the calls of one state one after the other, in the order in which they were added.
///
/// Any thread may add calls, and one thread at a time makes them. A call that is added meanwhile, by
/// an observer or by another thread, is made by that thread. No lock is held during a call.
package struct Teller: ~Copyable, Sendable {
  // Not private: the compiler makes a broken object file of a class in another file that stores a
  // `Teller` then.
  let turn = Locked(Turn())

  package init() {}

  /// Begins a turn for a call that need not be added, because nothing is ahead of it.
  ///
  /// - Returns: Whether the turn has begun. If so, `end()` must follow.
  package func begin() -> Bool { turn.withLock { $0.begin() } }

  /// Makes the calls that were added during the turn, and ends the turn.
  package func end() {
    if !turn.withLock({ $0.end() }) { makeCalls(isMine: true) }
  }

  package func add(_ call: @escaping () -> Void) {
    let call = Unchecked(value: call)
    turn.withLock { $0.add(call.value) }
  }

  /// Makes the calls that wait, unless another thread is making them.
  package func makeCalls() { makeCalls(isMine: false) }

  private func makeCalls(isMine: Bool) {
    Turn.makeCalls(isMine: isMine) { body in turn.withLock { body(&$0) } }
  }
}
