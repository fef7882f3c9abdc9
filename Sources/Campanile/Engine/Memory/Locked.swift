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
/// `withLock` and `withLockSteppingBack` are the only ways in. Nothing foreign may run inside: no
/// observer, no continuation, no release of an object whose `deinit` is not ours.
///
/// The state is stored beside the lock and not in it. Otherwise generic code would have to look up
/// the layout of a lock with its state each time it takes the lock. What other modules use is
/// inlinable, so for them too a lock is two atomic operations and no call.
@frozen @safe @usableFromInline
package struct Locked<State: ~Copyable>: ~Copyable, @unchecked Sendable {
  // SAFETY: allocated in `init`, freed in `deinit`, and touched with the lock held alone.
  @usableFromInline let state: UnsafeMutablePointer<State>
  @usableFromInline let lock = PlatformLock()

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

  /// Runs `body` with the lock held, and returns what it returns.
  @_alwaysEmitIntoClient @inline(__always)
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try lock.whileHeld { () throws(Failure) in try unsafe body(&state.pointee) }
  }

  /// `withLock` in fewer steps, for a result that is Sendable.
  @_alwaysEmitIntoClient @inline(__always)
  package borrowing func withLock<Result: Sendable>(
    _ body: (inout sending State) -> Result
  ) -> Result {
    lock.run { unsafe body(&state.pointee) }
  }

  /// `withLock` without a result, so that generic code has no type of a result to look up.
  @_alwaysEmitIntoClient @inline(__always)
  package borrowing func withLock(_ body: (inout sending State) -> Void) {
    lock.run { unsafe body(&state.pointee) }
  }

  /// Runs `body` with the lock held, and returns what it returns.
  ///
  /// If another thread has the lock, this thread waits half a microsecond before it waits for the
  /// lock. So a job that empties a mailbox takes more at a time, while the poster that fills the
  /// mailbox continues. Two threads that compete for a lock take longer than one after the other.
  @inline(__always)
  borrowing func withLockSteppingBack<Result: Sendable>(
    _ body: (inout sending State) -> Result
  ) -> Result {
    if let result = lock.runIfFree({ unsafe body(&state.pointee) }) { return result }
    Platform.linger()
    return lock.run { unsafe body(&state.pointee) }
  }
}

#if TSAN
  /// A POSIX mutex.
  ///
  /// Thread Sanitizer cannot see into the standard library's `Mutex` on Linux, and reports races that
  /// do not exist. Builds with the flag `TSAN` use a lock that it understands.
  @safe @usableFromInline struct PlatformLock: ~Copyable, @unchecked Sendable {
    // SAFETY: allocated in `init` and freed in `deinit`: a mutex must never move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    @usableFromInline
    init() {
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
    borrowing func run<Result: Sendable>(_ body: () -> Result) -> Result {
      whileHeld { () throws(Never) in body() }
    }

    borrowing func run<Result: Sendable>(
      whenTaken: (_ wait: () -> Void) -> Void, _ body: () -> Result
    ) -> Result {
      if unsafe pthread_mutex_trylock(mutex) != 0 {
        whenTaken { unsafe pthread_mutex_lock(mutex) }
      }
      defer { unsafe pthread_mutex_unlock(mutex) }
      return body()
    }

    borrowing func runIfFree<Result: Sendable>(_ body: () -> Result) -> Result? {
      if unsafe pthread_mutex_trylock(mutex) != 0 { return nil }
      defer { unsafe pthread_mutex_unlock(mutex) }
      return body()
    }

    @usableFromInline
    borrowing func whileHeld<Result: ~Copyable, Failure: Error>(
      _ body: () throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      unsafe pthread_mutex_lock(mutex)
      defer { unsafe pthread_mutex_unlock(mutex) }
      return try body()
    }
  }
#else
  /// The standard library's mutex, without a value.
  @frozen @usableFromInline struct PlatformLock: ~Copyable, Sendable {
    @usableFromInline let mutex = Mutex(())

    @inlinable
    init() {}

    /// The simple case: a Sendable result needs no temporary storage while the lock is released.
    @inlinable @inline(__always)
    borrowing func run<Result: Sendable>(_ body: () -> Result) -> Result {
      mutex.withLock { _ in body() }
    }

    /// Not by `withLockIfAvailable`, whose result is an optional: generic code would look its type up.
    @inline(__always)
    borrowing func run<Result: Sendable>(
      whenTaken: (_ wait: () -> Void) -> Void, _ body: () -> Result
    ) -> Result {
      if !mutex._unsafeTryLock() { whenTaken { mutex._unsafeLock() } }
      defer { mutex._unsafeUnlock() }
      return body()
    }

    @inline(__always)
    borrowing func runIfFree<Result: Sendable>(_ body: () -> Result) -> Result? {
      mutex.withLockIfAvailable { _ in body() }
    }

    @inlinable @inline(__always)
    borrowing func whileHeld<Result: ~Copyable, Failure: Error>(
      _ body: () throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      try mutex.withLock { _ throws(Failure) in try body() }
    }
  }
#endif

extension Locked where State: ~Copyable {
  /// Proof that the lock of such a state is held.
  ///
  /// Only a lock makes one, and lends it for as long as it is held. A function that must be called
  /// with the lock held has a parameter `_ held: borrowing Held`.
  @frozen @usableFromInline package struct Held: ~Copyable, Sendable {
    @inlinable @inline(__always)
    init() {}
  }

  /// Runs `body` with the lock held, and lends it the proof.
  @_alwaysEmitIntoClient @inline(__always)
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending State, borrowing Held) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try withLock { state throws(Failure) in try body(&state, Held()) }
  }

  /// `withLock` in fewer steps, for a result that is Sendable.
  @_alwaysEmitIntoClient @inline(__always)
  package borrowing func withLock<Result: Sendable>(
    _ body: (inout sending State, borrowing Held) -> Result
  ) -> Result {
    lock.run { unsafe body(&state.pointee, Held()) }
  }
}

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

  /// Runs `body` with the lock held, and returns what it returns.
  @inline(__always)
  borrowing func withLock<Result, Failure: Error>(
    _ body: (inout sending First, inout Second) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try first.withLock { first throws(Failure) in try unsafe body(&first, &second.pointee) }
  }

  /// `withLock` in fewer steps, for a result that is Sendable.
  @inline(__always)
  borrowing func withLock<Result: Sendable>(
    _ body: (inout sending First, inout Second) -> Result
  ) -> Result {
    first.withLock { unsafe body(&$0, &second.pointee) }
  }

  /// `withLock` in few steps if the lock is free.
  ///
  /// - Parameter whenTaken: Called if another thread has the lock, with what waits for it.
  @inline(__always)
  borrowing func withLock<Result: Sendable>(
    whenTaken: (_ wait: () -> Void) -> Void,
    _ body: (inout sending First, inout Second) -> Result
  ) -> Result {
    first.lock.run(whenTaken: whenTaken) { unsafe body(&first.state.pointee, &second.pointee) }
  }
}
