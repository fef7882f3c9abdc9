import Campanile
import Synchronization

/// The part of an observer's seat that does not depend on the type of the value.
class AnyObserverSeat {
  let state: EvaluationState
  /// The bits of the state that say that a change is to be looked at.
  fileprivate let mask = Atomic<UInt>(~0)
  /// How many changes had begun when the observer came.
  fileprivate let birth = Atomic<UInt>(0)
  /// How many changes had been told when it was called last.
  fileprivate let mark = Atomic<UInt>(0)
  /// How many had been told when the observer came; greater than any number once it was told one by itself.
  fileprivate let firstMark = Atomic<UInt>(0)
  /// How many changes had been told when the observer came, or when its value was read last by itself: what
  /// was told by then may be older.
  fileprivate let fresh = Atomic<UInt>(0)
  private let wishes: UInt

  fileprivate init(_ state: EvaluationState, wishes: UInt) {
    self.state = state
    self.wishes = wishes
    if wishes != 0 { state.add(wishes) }
  }

  deinit { if wishes != 0 { state.remove(wishes) } }

  /// Takes in that so many changes had begun, and been told, when the observer came or read the value
  /// that it begins with.
  func comesAfter(_ begun: UInt) {
    let told = state.count
    birth.store(begun, ordering: .relaxed)
    mark.store(told, ordering: .relaxed)
    firstMark.store(told, ordering: .relaxed)
    fresh.store(told, ordering: .relaxed)
    state.note(begun)
  }

  /// Whether no change has been told to the observer.
  fileprivate var isUntold: Bool {
    mark.load(ordering: .relaxed) == firstMark.load(ordering: .relaxed)
  }

  /// Whether the observer is simply called.
  @inline(__always)
  func isOpen() -> Bool {
    if state.word & mask.load(ordering: .relaxed) != 0 { return false }
    mark.store(state.count, ordering: .relaxed)
    return true
  }
}

/// What stands between an evaluation and one observer: which changes it has asked for.
///
/// Touched by the thread that tells, and by the one that makes the initial call.
final class ObserverSeat<Root: AnyObject, Value>: AnyObserverSeat {
  private let evaluation: OwnerReference<KeyPathEvaluation<Root, Value>>
  private let options: KVOChange<Value>.Options
  /// The newest change that the observer is not told: it was made before it came.
  var floor: UInt {
    get { lowest.load(ordering: .relaxed) }
    set { lowest.store(newValue, ordering: .relaxed) }
  }
  private let lowest = Atomic<UInt>(0)

  /// A change that waits for the initial call.
  private struct Kept {
    let change: KVOChange<Value>
    let began: UInt
    let count: UInt
    let number: UInt
  }

  /// Protected by the lock.
  private struct State {
    var registration: Registration?
    /// Whether the only call has been made.
    var isUsedUp = false
    /// Whether changes wait for the initial call.
    var isWaiting: Bool
    var kept: [Kept] = []
    /// The thread whose next call is not to wait, or 0.
    var passing: UInt = 0

    /// Takes in that what is called now does not wait.
    mutating func pass() -> Bool {
      if passing == 0 || passing != SourceRegistry.currentThread { return false }
      passing = 0
      return true
    }

    mutating func keep(_ change: Kept) -> Bool {
      if isWaiting { kept.append(change) }
      return isWaiting
    }
  }

  // SAFETY: values stay in the isolation of who changes the object.
  private let waiting: UncheckedLock<State>

  /// Takes the seat of an observer for whom the evaluation has been opened.
  init(
    _ evaluation: KeyPathEvaluation<Root, Value>, _ options: KVOChange<Value>.Options
  ) {
    self.evaluation = OwnerReference(evaluation)
    self.options = options
    waiting = UncheckedLock(State(isWaiting: options.isInitial))
    var wishes: UInt = 0
    if options.needsOld { wishes += EvaluationState.oldUnit }
    if options.isPrior { wishes += EvaluationState.priorUnit }
    if options.areEqual != nil { wishes += EvaluationState.distinctUnit }
    super.init(evaluation.state, wishes: wishes)
    if !options.isInitial { settle() }
  }

  deinit { evaluation.object?.close() }

  /// Whether the observer begins with the value as it is.
  var isInitial: Bool { options.isInitial }

  /// Lets what is for everybody pass without a look.
  private func settle() {
    if options.isOnce || options.isPrior || options.areEqual != nil { return }
    let passed = EvaluationState.always | (options.wantsOld ? EvaluationState.olds : 0)
    mask.store(~passed, ordering: .relaxed)
  }

  /// Takes in the registration, which the only call ends.
  func take(_ registration: Registration) {
    let isUsedUp = waiting.withLock { state in
      state.registration = registration
      return state.isUsedUp
    }
    if isUsedUp { registration.cancel() }
  }

  /// Calls the observer, if the change is for it, and now.
  // Apart: a function looks up the types that it names, whether it comes to use them or not.
  @inline(never)
  func call(
    _ observer: (KVOChange<Value>) throws -> Void, _ change: KVOChange<Value>
  ) throws {
    if let change = admit(change) { try observer(change) }
  }

  /// What the observer is told of a change; `nil` if nothing, or not now.
  @inline(never)
  func admit(_ change: KVOChange<Value>) -> KVOChange<Value>? {
    if waiting.withLock({ $0.pass() }) { return claim() ? change : nil }
    var change = change
    switch change.step {
    case .initial: break
    case .prior:
      if !options.isPrior { return nil }
      if let evaluation = evaluation.object, evaluation.isPriorStale {
        change = evaluation.renewed(change)
      }
    case .changed:
      let number = state.number
      if number != 0 {
        if number <= floor { return nil }
      } else {
        let (first, last) = state.began
        let birth = birth.load(ordering: .relaxed)
        // It knows no value that would be out of date.
        if last <= birth && !options.isInitial && isUntold { return nil }
        if first <= birth { change = change.asUnknown }
        if state.count <= fresh.load(ordering: .relaxed) { change = refreshed(change) }
      }
      let told = mark.exchange(state.count, ordering: .relaxed)
      if state.isStale, let evaluation = evaluation.object { change = evaluation.renewed(change) }
      // An earlier observer has made it, of a change that comes to this one later.
      if change.deed != nil && told &+ 1 != state.count { change = change.asSetting }
      if let areEqual = options.areEqual, let evaluation = evaluation.object {
        if let known = evaluation.known(after: told), areEqual(known.value, change.new) {
          return nil
        }
        evaluation.keepTold()
      }
    }
    if !options.wantsOld && change.hasOld { change = change.withoutOld }
    let kept = Kept(
      change: change, began: state.began.first, count: state.count, number: state.number)
    if waiting.withLock({ $0.keep(kept) }) { return nil }
    // The initial call may have been made since the change was looked at.
    if options.isInitial && change.step == .changed {
      guard let released = release(kept) else { return nil }
      change = released
    }
    return claim() ? change : nil
  }

  /// Uses up the only call, of an observer that wants one.
  private func claim() -> Bool {
    if !options.isOnce { return true }
    var registration: Registration?
    let isFirst = waiting.withLock { state in
      defer { state.isUsedUp = true }
      registration = state.registration
      return !state.isUsedUp
    }
    if isFirst { registration?.cancel() }
    return isFirst
  }

  /// Makes the initial call, and those that have waited for it.
  ///
  /// - Parameter call: Calls the observer.
  func begin(with value: Value, at path: KVOPath, _ call: (KVOChange<Value>) -> Void) {
    pass(KVOChange(initial: value, at: path), call)
    while true {
      var kept: Kept?
      waiting.withLock { state in
        if state.kept.isEmpty { state.isWaiting = false } else { kept = state.kept.removeFirst() }
      }
      guard let kept else { break }
      if let change = release(kept) { pass(change, call) }
    }
    settle()
  }

  private func pass(_ change: KVOChange<Value>, _ call: (KVOChange<Value>) -> Void) {
    waiting.withLock { $0.passing = SourceRegistry.currentThread }
    call(change)
    waiting.withLock { $0.passing = 0 }
  }

  /// A change that the observer is told after the initial call.
  private func release(_ kept: Kept) -> KVOChange<Value>? {
    if kept.number != 0 { return kept.number <= floor ? nil : kept.change }
    let isEarly = kept.began <= birth.load(ordering: .relaxed)
    let change = isEarly ? kept.change.asUnknown : kept.change
    return kept.count <= fresh.load(ordering: .relaxed) ? refreshed(change) : change
  }

  /// The same change with the value as it is now: the observer knows one that may be newer than the
  /// change's.
  private func refreshed(_ change: KVOChange<Value>) -> KVOChange<Value> {
    guard let evaluation = evaluation.object else { return change }
    let change = evaluation.renewed(change)
    // What is told from here on is read after this.
    fresh.store(state.count, ordering: .relaxed)
    // Nor is it the value before what goes on now; and it is one that the observer has been told.
    birth.store(evaluation.begun, ordering: .relaxed)
    firstMark.store(.max, ordering: .relaxed)
    state.note(evaluation.begun)
    return change
  }

  /// Forgets what waits: the value that is read next has it.
  ///
  /// - Returns: Whether there was anything.
  func forget() -> Bool {
    var kept: [Kept] = []
    waiting.withLock { swap(&$0.kept, &kept) }
    return !kept.isEmpty
  }
}

extension KVOChange {
  fileprivate var withoutOld: Self {
    KVOChange(step, deed, new: new, path: path, changed: changed)
  }

  fileprivate var asSetting: Self {
    renewed(new)
  }

  /// The same change for an observer that does not know the value before it.
  fileprivate var asUnknown: Self {
    KVOChange(step, nil, new: new, path: path, changed: changed)
  }

  /// The same change with another value after it.
  func renewed(_ new: Value) -> Self {
    KVOChange(
      step, nil, old: hasOld ? known : new, new: new, hasOld: hasOld, path: path, changed: changed)
  }
}
