#if TSAN
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif
#else
  public import Synchronization
#endif

/// State that is reached only through a lock, with the interface of `Mutex`.
///
/// Nothing foreign may run inside: no observer, no continuation, no release of an object whose
/// `deinit` is not ours.
///
/// The state is stored beside the lock and not in it. Otherwise generic code would have to look up
/// the layout of a lock with its state each time it takes the lock. What other modules use is
/// inlinable, so for them too a lock is two atomic operations and no call.
@frozen @safe @usableFromInline
package struct Locked<State: ~Copyable>: ~Copyable, @unchecked Sendable {
  // SAFETY: allocated in `init`, freed in `deinit`, and touched with the lock held alone.
  @usableFromInline let state: UnsafeMutablePointer<State>
  @usableFromInline let mutex = PlatformMutex(())

  @inlinable
  package init(_ state: consuming sending State) {
    unsafe self.state = .allocate(capacity: 1)
    unsafe self.state.initialize(to: state)
  }

  @inlinable
  deinit {
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  /// Proof that the lock of such a state is held.
  ///
  /// Only a lock makes one, and lends it for as long as it is held. A function that must be called
  /// with the lock held has a parameter `_ held: borrowing Held`.
  @frozen @usableFromInline package struct Held: ~Copyable, Sendable {
    @inlinable
    init() {}
  }

  /// Runs `body` with the lock held, and returns what it returns.
  @_alwaysEmitIntoClient @inline(__always)
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    mutex._unsafeLock()
    defer { mutex._unsafeUnlock() }
    return try unsafe body(&state.pointee)
  }

  /// Runs `body` with the lock held, for an ``UncheckedLock``.
  @_alwaysEmitIntoClient
  borrowing func withLockUnchecked<Result>(_ body: (inout State) -> Result) -> Result {
    mutex._unsafeLock()
    defer { mutex._unsafeUnlock() }
    return unsafe body(&state.pointee)
  }

  /// Runs `body` with the lock held, and lends it the proof.
  @_alwaysEmitIntoClient
  package borrowing func withLock<Result: ~Copyable>(
    _ body: (inout sending State, borrowing Held) -> sending Result
  ) -> sending Result {
    withLock { body(&$0, Held()) }
  }

  /// Runs `body` with the lock held, and waits by `wait` if another thread has the lock.
  ///
  /// - Parameter wait: Calls the function that it receives, which returns with the lock held.
  @inline(__always)
  borrowing func withLock<Result, Failure: Error>(
    waiting wait: (_ lock: () -> Void) -> Void,
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    if !mutex._unsafeTryLock() { wait { mutex._unsafeLock() } }
    defer { mutex._unsafeUnlock() }
    return try unsafe body(&state.pointee)
  }
}

#if TSAN
  /// A POSIX mutex in place of the standard library's.
  ///
  /// Thread Sanitizer cannot see into that on Linux, and reports races that do not exist. Builds with
  /// the flag `TSAN` use a lock that it understands.
  @safe @usableFromInline struct PlatformMutex: ~Copyable, @unchecked Sendable {
    // SAFETY: allocated in `init` and freed in `deinit`: a mutex must never move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    @usableFromInline
    init(_: Void) {
      unsafe mutex = .allocate(capacity: 1)
      unsafe mutex.initialize(to: pthread_mutex_t())
      unsafe pthread_mutex_init(mutex, nil)
    }

    @usableFromInline
    deinit {
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    }

    @usableFromInline
    func _unsafeLock() { unsafe pthread_mutex_lock(mutex) }

    @usableFromInline
    func _unsafeTryLock() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    @usableFromInline
    func _unsafeUnlock() { unsafe pthread_mutex_unlock(mutex) }
  }
#else
  @usableFromInline typealias PlatformMutex = Mutex<Void>
#endif

/// Two states behind one lock.
///
/// They are stored separately, so that generic code need not look up the layout of a type made of
/// both.
@safe struct LockedPair<First: ~Copyable, Second: Sendable>: ~Copyable, @unchecked Sendable {
  private let first: Locked<First>
  // SAFETY: allocated in `init`, freed in `deinit`, and touched with the lock held alone.
  private let second: UnsafeMutablePointer<Second>

  init(_ first: consuming sending First, _ second: Second) {
    self.first = Locked(first)
    unsafe self.second = .allocate(capacity: 1)
    unsafe self.second.initialize(to: second)
  }

  deinit {
    unsafe second.deinitialize(count: 1)
    unsafe second.deallocate()
  }

  /// As the function of `Locked`.
  @inline(__always)
  borrowing func withLock<Result, Failure: Error>(
    waiting wait: (_ lock: () -> Void) -> Void,
    _ body: (inout sending First, inout Second) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try first.withLock(waiting: wait) { first throws(Failure) in
      try unsafe body(&first, &second.pointee)
    }
  }
}

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
  @_alwaysEmitIntoClient
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
