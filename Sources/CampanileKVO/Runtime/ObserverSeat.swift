import Campanile
import Synchronization

/// What stands between an evaluation and one observer: which changes it has asked for.
///
/// Touched by the thread that tells, and by the one that makes the initial call.
final class ObserverSeat {
  private let state: EvaluationState
  private let evaluation: OwnerReference<Evaluation>
  let wishes: ObserverWishes
  /// Compares the boxes of two values, if changes to equal ones are left out.
  private let areEqual: ((AnyObject, AnyObject) -> Bool)?
  /// What an observer of one call, and one that begins with the value, need besides.
  private let waiting: Waiting?
  /// The bits of the state that say that a change is to be looked at.
  private let mask = Atomic<UInt>(~0)
  /// How many changes had begun when the observer came.
  private let birth = Atomic<UInt>(0)
  /// How many changes had been told when it was called last.
  private let mark = Atomic<UInt>(0)
  /// How many had been told when the observer came; greater than any number once it was told one by itself.
  private let firstMark = Atomic<UInt>(0)
  /// How many changes had been told when the observer came, or when its value was read last by itself: what
  /// was told by then may be older.
  private let fresh = Atomic<UInt>(0)
  private let lowest = Atomic<UInt>(0)

  /// A change that waits for the initial call, in a box.
  private struct Kept {
    let change: AnyObject
    let began: UInt
    let count: UInt
    let number: UInt
  }

  private final class Box<Value> {
    let change: KVOChange<Value>
    init(_ change: KVOChange<Value>) { self.change = change }
  }

  private final class Waiting {
    // SAFETY: values stay in the isolation of who changes the object.
    let state: UncheckedLock<State>
    init(_ isWaiting: Bool) { state = UncheckedLock(State(isWaiting: isWaiting)) }
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

  /// Takes the seat of an observer for whom the evaluation has been opened, and to whom it tells the changes
  /// that begin from here on.
  init(_ evaluation: Evaluation, _ request: KVORequest) {
    self.evaluation = OwnerReference(evaluation)
    state = evaluation.state
    wishes = request.wishes
    areEqual = request.areEqual
    let isInitial = wishes.contains(.initial)
    waiting = isInitial || wishes.contains(.once) ? Waiting(isInitial) : nil
    let units = units
    if units != 0 { state.add(units) }
    comesAfter(evaluation.begun)
    lowest.store(evaluation.revision, ordering: .relaxed)
    if !isInitial { settle() }
  }

  deinit {
    if units != 0 { state.remove(units) }
    evaluation.object?.close()
  }

  /// What the observer adds to the wishes that the evaluation counts.
  private var units: UInt {
    if wishes.isSubset(of: [.initial, .once]) { return 0 }
    var units = EvaluationState.oldUnit
    if wishes.contains(.prior) { units += EvaluationState.priorUnit }
    if wishes.contains(.distinct) { units += EvaluationState.distinctUnit }
    return units
  }

  /// The newest change that the observer is not told: it was made before it came.
  var floor: UInt {
    get { lowest.load(ordering: .relaxed) }
    set { lowest.store(newValue, ordering: .relaxed) }
  }

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
  private var isUntold: Bool {
    mark.load(ordering: .relaxed) == firstMark.load(ordering: .relaxed)
  }

  /// Lets what is for everybody pass without a look.
  private func settle() {
    if !wishes.isSubset(of: [.initial, .old]) { return }
    let passed = EvaluationState.always | (wishes.contains(.old) ? EvaluationState.olds : 0)
    mask.store(~passed, ordering: .relaxed)
  }

  /// Takes in the registration, which the only call ends.
  func take(_ registration: Registration) {
    guard let waiting else { return }
    let isUsedUp = waiting.state.withLock { state in
      state.registration = registration
      return state.isUsedUp
    }
    if isUsedUp { registration.cancel() }
  }

  // MARK: Calls

  /// Whether the observer is simply called.
  @inline(__always)
  func isOpen() -> Bool {
    if state.word & mask.load(ordering: .relaxed) != 0 { return false }
    mark.store(state.count, ordering: .relaxed)
    return true
  }

  /// Calls the observer, if the change is for it, and now.
  // Apart: a function looks up the types that it names, whether it comes to use them or not.
  @inline(never)
  func call<Value>(
    _ change: KVOChange<Value>, _ observer: (KVOChange<Value>) throws -> Void
  ) throws {
    if let change = admit(change) { try observer(change) }
  }

  /// What the observer is told of a change; `nil` if nothing, or not now.
  private func admit<Value>(_ change: KVOChange<Value>) -> KVOChange<Value>? {
    if let waiting, waiting.state.withLock({ $0.pass() }) { return claim() ? change : nil }
    var change = change
    switch change.step {
    case .initial: break
    case .prior:
      if !wishes.contains(.prior) { return nil }
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
        if last <= birth && !wishes.contains(.initial) && isUntold { return nil }
        if first <= birth { change = change.asUnknown }
        if state.count <= fresh.load(ordering: .relaxed) { change = refreshed(change) }
      }
      let told = mark.exchange(state.count, ordering: .relaxed)
      if state.isStale, let evaluation = evaluation.object { change = evaluation.renewed(change) }
      // An earlier observer has made it, of a change that comes to this one later.
      if change.deed != nil && told &+ 1 != state.count { change = change.asSetting }
      if let areEqual, let evaluation = evaluation.object {
        if let known = evaluation.known(after: told), areEqual(known, OldValue(change.new)) {
          return nil
        }
        evaluation.keepTold()
      }
    }
    if !wishes.contains(.old) && change.hasOld { change = change.withoutOld }
    guard let waiting else { return change }
    let kept = Kept(
      change: Box(change), began: state.began.first, count: state.count, number: state.number)
    if waiting.state.withLock({ $0.keep(kept) }) { return nil }
    // The initial call may have been made since the change was looked at.
    if wishes.contains(.initial) && change.step == .changed {
      guard let released: KVOChange<Value> = release(kept) else { return nil }
      change = released
    }
    return claim() ? change : nil
  }

  /// Uses up the only call, of an observer that wants one.
  private func claim() -> Bool {
    guard wishes.contains(.once), let waiting else { return true }
    var registration: Registration?
    let isFirst = waiting.state.withLock { state in
      defer { state.isUsedUp = true }
      registration = state.registration
      return !state.isUsedUp
    }
    if isFirst { registration?.cancel() }
    return isFirst
  }

  /// The same change with the value as it is now: the observer knows one that may be newer than the
  /// change's.
  private func refreshed<Value>(_ change: KVOChange<Value>) -> KVOChange<Value> {
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

  // MARK: The initial call

  /// Makes the initial call, and those that have waited for it.
  ///
  /// - Parameter call: Calls the observer.
  func begin<Value>(
    with value: Value, at path: KVOPath, _ call: (KVOChange<Value>) -> Void
  ) {
    guard let waiting else { return }
    pass(KVOChange(initial: value, at: path), call)
    while true {
      var kept: Kept?
      waiting.state.withLock { state in
        if state.kept.isEmpty { state.isWaiting = false } else { kept = state.kept.removeFirst() }
      }
      guard let kept else { break }
      if let change: KVOChange<Value> = release(kept) { pass(change, call) }
    }
    settle()
  }

  private func pass<Value>(_ change: KVOChange<Value>, _ call: (KVOChange<Value>) -> Void) {
    waiting?.state.withLock { $0.passing = SourceRegistry.currentThread }
    call(change)
    waiting?.state.withLock { $0.passing = 0 }
  }

  /// A change that the observer is told after the initial call.
  private func release<Value>(_ kept: Kept) -> KVOChange<Value>? {
    // What was kept for this observer.
    guard let change = (kept.change as? Box<Value>)?.change else { return nil }
    if kept.number != 0 { return kept.number <= floor ? nil : change }
    let isEarly = kept.began <= birth.load(ordering: .relaxed)
    let known = isEarly ? change.asUnknown : change
    return kept.count <= fresh.load(ordering: .relaxed) ? refreshed(known) : known
  }

  /// Forgets what waits: the value that is read next has it.
  ///
  /// - Returns: Whether there was anything.
  func forget() -> Bool {
    var kept: [Kept] = []
    waiting?.state.withLock { swap(&$0.kept, &kept) }
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
