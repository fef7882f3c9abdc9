import Campanile
import Synchronization

/// Decides which calls of an evaluation one observer receives, and in which form.
///
/// The observer keeps its gate, and so the evaluation. Except for the claim of a single call, a gate
/// is used by the thread whose turn it is to make calls.
final class ObserverGate {
  private let evaluation: Evaluation
  private let wishes: ObserverWishes
  /// Compares the boxes of two values, if changes to equal values are left out.
  private let areEqual: ((AnyObject, AnyObject) -> Bool)?
  /// Whether the observer receives every change after its registration, once.
  private let isPlain: Bool
  /// Whether the initial call has not been made.
  private var isWaiting: Bool
  /// The number of the newest change that the initial value includes.
  private var floor: UInt = 0
  /// The last round in which the observer was called, or left out because it knew the value.
  ///
  /// A paused observer misses rounds.
  private let lastRound: Atomic<UInt>
  private let single: SingleCall?

  init(_ evaluation: Evaluation, _ request: KVORequest) {
    self.evaluation = evaluation
    wishes = request.wishes
    areEqual = request.areEqual
    lastRound = Atomic(evaluation.rounds)
    isPlain = wishes.isSubset(of: .old)
    isWaiting = wishes.contains(.initial)
    single = wishes.contains(.once) ? SingleCall() : nil
  }

  func take(_ registration: Registration) { single?.take(registration) }

  /// Lets the initial call pass, and the changes after `number`.
  func open(after number: UInt) {
    floor = number
    isWaiting = false
  }

  /// Whether the observer receives the change as it is.
  @inline(__always)
  func isOpen<Value>(for change: KVOChange<Value>) -> Bool {
    guard isPlain && change.step == .changed && change.deed == nil,
      !change.hasOld || wishes.contains(.old)
    else { return false }
    noteRound()
    return true
  }

  /// Calls the observer, unless the change is not for it.
  // A separate function, because a function looks up all types that it names, even if it does not
  // use them.
  @inline(never)
  func call<Value>(
    _ change: KVOChange<Value>, _ observer: (KVOChange<Value>) throws -> Void
  ) throws {
    var change = change
    switch change.step {
    case .initial: break
    case .prior:
      if isWaiting || !wishes.contains(.prior) { return leaveOut() }
    case .changed:
      if isWaiting || evaluation.number != 0 && evaluation.number <= floor { return leaveOut() }
      if let areEqual, change.hasOld, areEqual(OldValue(change.known), OldValue(change.new)) {
        return leaveOut()
      }
      // The indexes of an edit mean nothing to an observer that does not know the array before it.
      if change.deed != nil && !isNext { change = change.asSetting }
    }
    noteRound()
    if let single, !single.claim() { return }
    try observer(wishes.contains(.old) ? change : change.withoutOld)
  }

  /// Leaves out a call without which the observer knows the value as well.
  private func leaveOut() { if isNext { noteRound() } }

  /// Whether the observer has missed no round before this one.
  private var isNext: Bool { lastRound.load(ordering: .relaxed) &+ 1 == evaluation.rounds }
  private func noteRound() { lastRound.store(evaluation.rounds, ordering: .relaxed) }
}

/// The only call of an observer with `.once`.
private final class SingleCall: Sendable {
  /// Protected by the lock.
  private let state = Locked<(isMade: Bool, registration: Registration?)>((false, nil))

  /// The call may be made before the registration is known.
  func take(_ registration: Registration) {
    let isMade = state.withLock { state in
      state.registration = registration
      return state.isMade
    }
    if isMade { registration.cancel() }
  }

  /// Ends the registration.
  ///
  /// - Returns: Whether this is the first call.
  func claim() -> Bool {
    let (isMade, registration) = state.withLock { state in
      defer { state.isMade = true }
      return state
    }
    registration?.cancel()
    return !isMade
  }
}
