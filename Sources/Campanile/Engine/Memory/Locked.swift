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
    _ body: (inout sending First, inout Second) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try first.withLock { first throws(Failure) in
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

/// Decides which thread makes the calls of one state, and in which order.
///
/// One thread at a time has the turn. The others add their calls, which the thread with the turn makes
/// in the order in which they were added. It may offer the rest to the next thread that adds one.
///
/// A turn has no lock: it is stored behind that of a ``Teller``, or of a value.
package struct Turn: ~Copyable, Sendable {
  /// A call that waits, and the thread that added it.
  struct Call: Sendable {
    let thread: UInt
    // SAFETY: the calls stay in the isolation of an observed object, or any thread may make them.
    let make: Unchecked<() -> Void>
  }

  /// Whether a thread makes calls, and will go on with those that wait.
  private var isTaken = false
  /// The oldest calls that wait, the oldest of them last.
  private var oldest: [Call] = []
  /// The calls that were added after them; together, taking one takes amortized constant time.
  private var newest: [Call] = []
  private var isEmpty: Bool { newest.isEmpty && oldest.isEmpty }

  /// How many calls of other threads a thread makes before it offers the rest.
  static var foreignLimit: Int { 64 }

  init() {}

  /// Whether no call is being made, and none waits.
  var isIdle: Bool { !isTaken && isEmpty }

  /// Begins a turn for a call that need not be added, because nothing is ahead of it.
  ///
  /// - Returns: Whether the turn has begun. If so, `end()` must follow.
  mutating func begin() -> Bool {
    if !isIdle { return false }
    isTaken = true
    return true
  }

  mutating func add(_ make: @escaping () -> Void) {
    newest.append(Call(thread: CallingThread.id, make: Unchecked(value: make)))
  }

  /// Ends the turn, if nothing waits.
  ///
  /// - Returns: Whether it is over; if not, `makeCalls` must follow.
  mutating func end() -> Bool {
    isTaken = !isEmpty
    return !isTaken
  }

  /// Takes the oldest call out for the thread whose turn it is, or for one that would like a turn.
  ///
  /// Without a waiting call, the turn ends.
  mutating func next(isMine: Bool) -> Call? {
    if isTaken && !isMine { return nil }
    if oldest.isEmpty { (oldest, newest) = (newest.reversed(), []) }
    let call = oldest.popLast()
    isTaken = call != nil
    return call
  }

  /// Leaves the turn to the next thread that adds a call.
  mutating func offer() { isTaken = false }

  /// Makes the calls that wait, until none is left or another thread has the turn.
  ///
  /// After each 64 calls of other threads it offers the rest to a thread that adds a call, so that a
  /// setter returns although other threads keep setting. Each offer that no thread takes makes the
  /// next one last longer, up to 64 microseconds, which is one for each call between two offers.
  ///
  /// - Parameters:
  ///   - isMine: Whether this thread has the turn.
  ///   - willTakeBack: Called after each offer.
  ///   - withTurn: Runs its argument under the lock of the turn.
  @inline(never)
  static func makeCalls(
    isMine: Bool, willTakeBack: () -> Void = {}, _ withTurn: ((inout Turn) -> Void) -> Void
  ) {
    let thread = CallingThread.id
    var isMine = isMine
    var foreignCount = 0
    while true {
      var call: Call?
      withTurn { [isMine] in call = $0.next(isMine: isMine) }
      guard let call else { return }
      isMine = true
      call.make.value()
      if call.thread == thread { continue }
      foreignCount += 1
      let (offers, rest) = foreignCount.quotientAndRemainder(dividingBy: foreignLimit)
      if rest != 0 { continue }
      withTurn { $0.offer() }
      isMine = false
      willTakeBack()
      for _ in 0..<(1 << min(offers, 7)) { Platform.linger() }
    }
  }
}
