/// A lock around state that is not Sendable, like `OSAllocatedUnfairLock(uncheckedState:)`.
///
/// Each use says why it is safe. There are two reasons. Code of one isolation puts the state in and
/// takes it out, as for observers of an object that is not Sendable. Or the objects in it come from
/// Foundation, and threads only keep, compare and release them.
@frozen @usableFromInline package struct UncheckedLock<State>: ~Copyable, Sendable {
  @usableFromInline let state: Locked<Unchecked<State>>

  @_alwaysEmitIntoClient
  package init(_ state: State) { self.state = Locked(Unchecked(value: state)) }

  /// Runs `body` with the lock held, and returns what it returns.
  @_alwaysEmitIntoClient @inline(__always)
  package borrowing func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    state.withLockUnchecked { body(&$0.value) }
  }
}

/// A value of which its user knows that other threads may have it.
///
/// Not private: the layout of the lock is part of the layout of what has one, in other modules too.
@frozen @usableFromInline package struct Unchecked<Value>: @unchecked Sendable {
  // SAFETY: as each use says.
  @usableFromInline var value: Value

  @_alwaysEmitIntoClient
  init(value: Value) { self.value = value }
}
