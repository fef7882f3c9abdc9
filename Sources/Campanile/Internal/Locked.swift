#if TSAN
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif
#else
  import Synchronization
#endif

/// State that is reached only through a lock.
///
/// `withLock` and `update` are the only ways in. Nothing foreign may run inside: no observer, no
/// continuation, no release of an object whose `deinit` is not ours.
@safe package struct Locked<State: ~Copyable>: ~Copyable, @unchecked Sendable {
  // SAFETY: allocated in `init`, freed in `deinit`, and touched with the lock held alone.
  private let state: UnsafeMutablePointer<State>
  private let lock = PlatformLock()

  package init(_ state: consuming sending State) {
    unsafe self.state = .allocate(capacity: 1)
    unsafe self.state.initialize(to: state)
  }

  deinit {
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  /// Runs `body` with the lock held, and returns what it returns.
  ///
  /// What leaves the state through the result must be Sendable, or the state must let go of it.
  @inline(__always)
  package borrowing func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try lock.whileHeld { () throws(Failure) in try unsafe body(&state.pointee) }
  }

  /// The same, for a body that does not throw.
  @inline(__always)
  package borrowing func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    lock.whileHeld { () throws(Never) in unsafe body(&state.pointee) }
  }

  /// The same, in fewer steps, for a result that is Sendable.
  @inline(__always)
  package borrowing func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    lock.run { unsafe body(&state.pointee) }
  }

  /// Runs `body` with the lock held.
  ///
  /// As `withLock`, and several times faster from another module: code that is compiled for no type
  /// in particular has no type of a result to look up here.
  package borrowing func update(_ body: (inout State) -> Void) {
    lock.run { unsafe body(&state.pointee) }
  }
}

#if TSAN
  /// A POSIX mutex.
  ///
  /// Thread Sanitizer cannot see into the standard library's `Mutex` on Linux and reports races
  /// that are none, so builds with the flag `TSAN` use a lock that it understands.
  @safe private struct PlatformLock: ~Copyable, @unchecked Sendable {
    // SAFETY: allocated in `init` and freed in `deinit`: a mutex must never move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
      unsafe mutex = .allocate(capacity: 1)
      unsafe mutex.initialize(to: pthread_mutex_t())
      unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    }

    borrowing func run<Result>(_ body: () -> Result) -> Result { whileHeld(body) }

    borrowing func whileHeld<Result, Failure: Error>(
      _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
      unsafe pthread_mutex_lock(mutex)
      defer { unsafe pthread_mutex_unlock(mutex) }
      return try body()
    }
  }
#else
  /// The standard library's mutex, around nothing.
  private struct PlatformLock: ~Copyable, Sendable {
    private let mutex = Mutex(())

    /// The simple case: what is Sendable needs no place to wait in while the lock is given back.
    @inline(__always)
    borrowing func run<Result: Sendable>(_ body: () -> Result) -> Result {
      mutex.withLock { _ in body() }
    }

    @inline(__always)
    borrowing func whileHeld<Result, Failure: Error>(
      _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
      // SAFETY: both go from the closure to this stack; the mutex guards nothing itself.
      nonisolated(unsafe) var result: Result?
      nonisolated(unsafe) var failure: Failure?
      mutex.withLock { _ in
        do throws(Failure) {
          unsafe result = try body()
        } catch {
          unsafe failure = error
        }
      }
      if let failure = unsafe failure { throw failure }
      return unsafe result!
    }
  }
#endif
