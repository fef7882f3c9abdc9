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
  @inline(__always)
  mutating func begin() -> Bool {
    if !isIdle { return false }
    isTaken = true
    return true
  }

  mutating func add(_ make: @escaping () -> Void) {
    newest.append(Call(thread: ThreadRecord.currentID, make: Unchecked(value: make)))
  }

  /// Ends the turn, if nothing waits.
  ///
  /// - Returns: Whether it is over; if not, `makeCalls` must follow.
  @inline(__always)
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
    let thread = ThreadRecord.currentID
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
  @inline(__always)
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
