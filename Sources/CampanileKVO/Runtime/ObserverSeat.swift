import Campanile
import Synchronization

/// Connects one observer to an evaluation: decides which changes the observer receives.
///
/// Used by the delivering thread, and by the thread that makes the initial call.
final class ObserverSeat {
  private let state: EvaluationState
  let wishes: ObserverWishes
  /// Compares the boxes of two values, if changes to equal values are left out.
  private let areEqual: ((AnyObject, AnyObject) -> Bool)?
  /// Additional state of an observer with `.once` or `.initial`.
  private let waiting: Waiting?
  /// The bits of the evaluation's state that require a check of the change.
  private let mask = Atomic<UInt>(~0)
  /// The number of changes that had begun when the observer was added.
  ///
  /// Greater than that of any change until the observer may be called.
  private let birth = Atomic<UInt>(.max)
  /// The number of changes that had been delivered at the observer's last call.
  private let mark = Atomic<UInt>(0)
  /// The number of changes that had been delivered when the observer was added.
  ///
  /// Greater than any count once the value has been read for this observer.
  private let firstMark = Atomic<UInt>(0)
  /// The number of changes that had been delivered when the observer was added, or when its value
  /// was last read for it alone.
  ///
  /// Changes delivered by then may be older than that value.
  private let fresh = Atomic<UInt>(0)
  private let lowest = Atomic<UInt>(.max)
  /// The newest change that the initial value includes, if changes have numbers.
  private let firstNumber = Atomic<UInt>(0)

  /// A change that waits for the initial call, in a box.
  ///
  /// A prior call has the numbers of what had begun and had been stored when it was made.
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
    // SAFETY: values stay in the isolation of the code that changes the object.
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
    var kept = Fifo<Kept>()
    /// The thread whose next call does not wait, or 0.
    var passing: UInt = 0

    /// Whether the current call does not wait.
    ///
    /// Clears that permission.
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

  /// Creates the seat of an observer for whom the evaluation has been opened.
  ///
  /// The observer receives no change before ``start(at:)``.
  init(
    _ evaluation: Evaluation, _ wishes: ObserverWishes,
    comparing areEqual: ((AnyObject, AnyObject) -> Bool)?
  ) {
    state = evaluation.state
    self.wishes = wishes
    self.areEqual = areEqual
    let isInitial = wishes.contains(.initial)
    waiting = isInitial || wishes.contains(.once) ? Waiting(isInitial) : nil
    let units = units
    if units != 0 { state.add(units) }
  }

  /// Lets the observer receive the changes that begin from here on.
  func start(at evaluation: Evaluation) {
    evaluation.recordPlainChanges()
    if areEqual != nil {
      // Before: what begins from here on is told. The initial value is recorded once it is known.
      let isRead = !wishes.contains(.initial) && evaluation.mayBeBusy
      evaluation.join(isRead ? evaluation.newest : nil, by: self)
    }
    comesAfter(evaluation.begun)
    lowest.store(evaluation.revision, ordering: .relaxed)
    if !wishes.contains(.initial) { settle() }
  }

  deinit {
    if units != 0 { state.remove(units) }
    state.evaluation?.close()
  }

  /// What the observer adds to the counts of the evaluation's state.
  private var units: UInt {
    if wishes.isSubset(of: [.initial, .once]) { return 0 }
    var units = EvaluationState.oldUnit
    if wishes.contains(.prior) { units += EvaluationState.priorUnit }
    if wishes.contains(.distinct) { units += EvaluationState.distinctUnit }
    return units
  }

  /// The newest change that the observer does not receive, because a value that it knows includes
  /// the change.
  private var floor: UInt { lowest.load(ordering: .relaxed) }

  /// Records that a value for the observer includes a change and all before it.
  ///
  /// Another thread may have recorded a newer one.
  func raiseFloor(to number: UInt) { lowest.max(number, ordering: .relaxed) }

  /// Records that the initial value includes a change and all before it.
  func knows(_ number: UInt) {
    firstNumber.store(number, ordering: .relaxed)
    raiseFloor(to: number)
  }

  /// Records how many changes had begun and been delivered when the observer was added, or when it
  /// read its initial value.
  func comesAfter(_ begun: UInt) {
    let told = state.count
    mark.store(told, ordering: .relaxed)
    firstMark.store(told, ordering: .relaxed)
    fresh.store(told, ordering: .relaxed)
    // Last: who is told of the next change meanwhile has been told, and is not untold again.
    birth.store(begun, ordering: .releasing)
    state.note(begun)
  }

  /// Whether the observer has received no change.
  private var isUntold: Bool {
    mark.load(ordering: .relaxed) == firstMark.load(ordering: .relaxed)
  }

  /// Lets ordinary changes pass without a check.
  private func settle() {
    if !wishes.isSubset(of: [.initial, .old]) { return }
    let passed = EvaluationState.always | (wishes.contains(.old) ? EvaluationState.olds : 0)
    mask.store(~passed, ordering: .relaxed)
  }

  /// Stores the registration, which the only call ends.
  func take(_ registration: Registration) {
    guard let waiting else { return }
    let isUsedUp = waiting.state.withLock { state in
      state.registration = registration
      return state.isUsedUp
    }
    if isUsedUp { registration.cancel() }
  }

  // MARK: Calls

  /// Whether the observer can be called with a change without a check.
  @inline(__always)
  func isOpen<Value>(for change: KVOChange<Value>) -> Bool {
    let mask = mask.load(ordering: .relaxed)
    if state.word & mask != 0 { return false }
    // An observer that asked for more may have ended since the change was made for it.
    if change.step == .prior || change.hasOld && mask & EvaluationState.oldUnit != 0 {
      return false
    }
    mark.store(state.count, ordering: .relaxed)
    return true
  }

  /// Calls the observer, if it receives the change, and now.
  // A separate function: a function looks up all types that it names, even if it does not use them.
  @inline(never)
  func call<Value>(
    _ change: KVOChange<Value>, _ observer: (KVOChange<Value>) throws -> Void
  ) throws {
    if let change = admit(change) { try observer(change) }
  }

  /// The change that the observer receives; `nil` if it receives none, or not now.
  private func admit<Value>(_ change: KVOChange<Value>) -> KVOChange<Value>? {
    if let waiting, waiting.state.withLock({ $0.pass() }) { return claim() ? change : nil }
    var change = change
    // Before the value may be read for this observer alone.
    let (isUntold, born) = (isUntold, birth.load(ordering: .relaxed))
    switch change.step {
    case .initial: break
    case .prior:
      if !wishes.contains(.prior) { return nil }
      if birth.load(ordering: .relaxed) == .max { return nil }
      if let evaluation = state.evaluation, evaluation.isPriorStale {
        change = evaluation.renewed(change)
      }
    case .changed:
      let number = state.number
      if number != 0 {
        if number <= floor { return nil }
      } else {
        let (first, last) = state.began
        // The newest change that the value includes, which was read for all.
        let included = state.evaluation?.included ?? 0
        if included > floor {
          raiseFloor(to: included)
        } else if last <= born && isUntold && (included != 0 || !wishes.contains(.initial)) {
          // The observer knows no value that would be outdated. Where values have numbers, the
          // initial value includes the change.
          return nil
        }
        if first <= born { change = change.asUnknown }
        if state.count <= fresh.load(ordering: .relaxed) { change = refreshed(change) }
      }
      let told = mark.exchange(state.count, ordering: .relaxed)
      if state.isStale, let evaluation = state.evaluation { change = evaluation.renewed(change) }
      // An earlier observer has made a change that this observer receives first.
      if change.deed != nil && told &+ 1 != state.count { change = change.asSetting }
      if let areEqual, let evaluation = state.evaluation {
        let known = evaluation.known(after: told)
        // A value that was read before the observer joined, or that was delivered to others, is not
        // what it knows: that is still the value that it joined at.
        let joined = isUntold ? evaluation.joined(by: self) : nil
        let isFirst = isUntold && (joined != nil || known.map { $0.before <= born } ?? true)
        if let known = isFirst ? joined : known?.value {
          if areEqual(known, OldValue(change.new)) {
            if isFirst { mark.store(told, ordering: .relaxed) }
            evaluation.replaceTold()
            return nil
          }
          // If changes overlap, the value when this one began may be the new value already.
          if change.hasOld && wishes.contains(.old) { change = change.following(known) }
        }
        evaluation.keepTold()
      }
    }
    if !wishes.contains(.old) && change.hasOld { change = change.withoutOld }
    guard let waiting, wishes.contains(.initial) else { return claim() ? change : nil }
    var (began, number) = (state.began.first, state.number)
    if change.step == .prior, let evaluation = state.evaluation {
      let handsOver = evaluation.handsOver
      (began, number) = (handsOver ? .max : evaluation.begun, handsOver ? evaluation.revision : 0)
    }
    let kept = Kept(change: Box(change), began: began, count: state.count, number: number)
    if waiting.state.withLock({ $0.keep(kept) }) { return nil }
    // The initial call may have been made since the change was checked.
    if change.step == .changed {
      guard let released: KVOChange<Value> = release(kept) else { return nil }
      change = released
    }
    return claim() ? change : nil
  }

  /// Uses up the only call of an observer with `.once`.
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

  /// The same change with the current value, because the observer may know a newer value than the
  /// change has.
  private func refreshed<Value>(_ change: KVOChange<Value>) -> KVOChange<Value> {
    guard let evaluation = state.evaluation else { return change }
    let change = evaluation.renewed(change)
    // Values that are delivered from here on are read after this one.
    fresh.store(state.count, ordering: .relaxed)
    // This value is not the old value of changes in progress. It counts as a value that the
    // observer has received.
    birth.store(evaluation.begun, ordering: .relaxed)
    firstMark.store(.max, ordering: .relaxed)
    state.note(evaluation.begun)
    return change
  }

  // MARK: The initial call

  /// Makes the initial call, and the calls that have waited for it.
  ///
  /// - Parameter call: Calls the observer.
  func begin<Value>(
    with value: Value, at path: KVOPath, _ call: (KVOChange<Value>) -> Void
  ) {
    guard let waiting else { return }
    pass(KVOChange(initial: value, at: path), call)
    var last = value
    while true {
      let evaluation = areEqual != nil ? state.evaluation : nil
      let value = evaluation != nil ? OldValue(last) : nil
      var kept: Kept?
      waiting.state.withLock { state in
        kept = state.kept.popFirst()
        if kept != nil { return }
        state.isWaiting = false
        // Under this lock: the next change is compared with it. It replaces nothing.
        evaluation?.join(value, by: self)
      }
      guard let kept else { break }
      guard let change: KVOChange<Value> = release(kept) else { continue }
      if change.step == .changed {
        if areEqual?(OldValue(last), OldValue(change.new)) == true { continue }
        last = change.new
      }
      pass(change, call)
    }
    settle()
  }

  private func pass<Value>(_ change: KVOChange<Value>, _ call: (KVOChange<Value>) -> Void) {
    waiting?.state.withLock { $0.passing = SourceRegistry.currentThread }
    call(change)
    waiting?.state.withLock { $0.passing = 0 }
  }

  /// A change that the observer receives after the initial call.
  private func release<Value>(_ kept: Kept) -> KVOChange<Value>? {
    // The box that was kept for this observer.
    guard let change = (kept.change as? Box<Value>)?.change else { return nil }
    let first = firstNumber.load(ordering: .relaxed)
    let isEarly = kept.began <= birth.load(ordering: .relaxed)
    if change.step == .prior {
      // The initial value may include the change that it announces.
      if kept.number < first { return nil }
      let known = isEarly ? change.asUnknown : change
      return state.evaluation.map { $0.renewed(known) } ?? known
    }
    if kept.number != 0 { return kept.number <= first ? nil : change }
    let known = isEarly ? change.asUnknown : change
    return kept.count <= fresh.load(ordering: .relaxed) ? refreshed(known) : known
  }

  /// Forgets the waiting changes: the value that is read next includes them.
  ///
  /// - Returns: Whether there were any.
  func forget() -> Bool {
    var kept = Fifo<Kept>()
    waiting?.state.withLock { swap(&$0.kept, &kept) }
    return !kept.isEmpty
  }
}
