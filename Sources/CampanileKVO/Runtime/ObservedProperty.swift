import Campanile
import Synchronization

/// One property of one object, and the evaluations whose key paths read it.
@usableFromInline
final class ObservedProperty: Sendable {
  /// The object that the property belongs to: its identity, and whether it has died.
  final class Subject: Sendable {
    let id: ObjectIdentifier
    private let ended = Atomic<Bool>(false)

    init(_ id: ObjectIdentifier) { self.id = id }

    /// Whether the object's deinit has begun.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }
    func end() { ended.store(true, ordering: .releasing) }
  }

  let subject: Subject
  let path: KVOPath
  /// The key path as an object.
  let pathID: ObjectIdentifier

  /// Protected by the lock.
  private struct State {
    /// The evaluations that read the property, in the order in which they began to.
    var followers: [(id: ObjectIdentifier, evaluation: OwnerReference<Evaluation>)] = []
    /// The evaluation of the key path that is this property, kept even without observers, so that
    /// observing the property again is cheap.
    var own: Evaluation?
  }

  // SAFETY: an evaluation is used by code that may change the property.
  private let state = UncheckedLock(State())
  private let followerCount = Atomic<Int>(0)
  /// The number of changes that have been made, of an object that any thread may change.
  private let changeCount = Atomic<UInt>(0)
  /// The number of changes that have begun and not ended, of an object that stays in one isolation.
  private let openCount = Atomic<Int>(0)

  init(_ keyPath: AnyKeyPath, of subject: Subject) {
    self.subject = subject
    path = KVOPath(keyPath)
    pathID = ObjectIdentifier(keyPath)
  }

  // MARK: Followers

  var isFollowed: Bool { followerCount.load(ordering: .sequentiallyConsistent) != 0 }

  /// The evaluations that read the property, in the order in which they began to.
  var followers: [Evaluation] {
    // Not by a key path as a function: reading it would cost as much as the rest of a change.
    state.withLock { $0.followers.compactMap { $0.evaluation.object } }
  }

  /// The only evaluation that reads the property, if there is only one.
  private var onlyFollower: Evaluation? {
    var only: Evaluation?
    state.withLock { if $0.followers.count == 1 { only = $0.followers[0].evaluation.object } }
    return only
  }

  /// The evaluation of the key path that is this property.
  private var own: Evaluation? {
    var own: Evaluation?
    state.withLock { own = $0.own }
    return own
  }

  /// Keeps the evaluation of the key path that is this property, and returns the one that is kept, or
  /// `evaluation` if the object's deinit has begun.
  func keep(_ evaluation: Evaluation) -> Evaluation {
    var kept = evaluation
    // Released outside the lock.
    var retired: Evaluation?
    state.withLock { state in
      if subject.hasEnded { return }
      if let own = state.own, !own.isRetired { return kept = own }
      retired = state.own
      state.own = evaluation
    }
    withExtendedLifetime(retired) {}
    return kept
  }

  /// Releases the evaluation of the key path that is this property, unless it is in use.
  func releaseOwn() {
    // Released outside the lock.
    var retired: Evaluation?
    // Retired inside it, so that `keep` finds no evaluation whose retirement fails after all.
    state.withLock { if $0.own?.retire() == true { swap(&$0.own, &retired) } }
    withExtendedLifetime(retired) {}
  }

  func add(_ evaluation: Evaluation) {
    let reference = OwnerReference(evaluation)
    state.withLock { $0.followers.append((ObjectIdentifier(evaluation), reference)) }
    followerCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
  }

  func remove(_ evaluation: ObjectIdentifier) {
    var removed: OwnerReference<Evaluation>?
    state.withLock { state in
      guard let index = state.followers.firstIndex(where: { $0.id == evaluation }) else { return }
      removed = state.followers.remove(at: index).evaluation
    }
    if removed != nil { followerCount.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
  }

  /// Ends the observations of an object that dies.
  func end() {
    for evaluation in followers where evaluation.rootID == subject.id { evaluation.finish() }
    var own: Evaluation?
    state.withLock { swap(&$0.own, &own) }
  }

  // MARK: Changes of an object that stays in one isolation

  /// Whether a change has begun and not ended, of an object that lives to end it.
  var isOpen: Bool { openCount.load(ordering: .relaxed) > 0 && !subject.hasEnded }

  /// Begins a change.
  ///
  /// - Parameter isSet: Whether the caller will know the values before and after.
  /// - Returns: The evaluation that the caller hands these values to, if nothing else is needed.
  func willChange(isSet: Bool = false) -> Evaluation? {
    let open = openCount.load(ordering: .relaxed)
    openCount.store(open + 1, ordering: .relaxed)
    if open > 0 { return nil }
    switch followerCount.load(ordering: .sequentiallyConsistent) {
    case 0: break
    case 1:
      // The evaluation of the property itself follows it as long as the object lives.
      guard let own else {
        onlyFollower?.willChange(self)
        break
      }
      if own.isUnheard { break }
      if isSet && own.takesValues { return own }
      own.willChange(self)
    default:
      for evaluation in followers { evaluation.willChange(self) }
    }
    return nil
  }

  /// Ends a change, which may be part of another one of the same property.
  ///
  /// - Parameter receiver: The evaluation that `willChange` returned.
  /// - Returns: Whether the caller hands the values to that evaluation. If not, the change has been
  ///   reported.
  func didChange(_ receiver: Evaluation? = nil) -> Bool {
    let open = openCount.load(ordering: .relaxed)
    // The first observation may have begun inside the change.
    if open > 0 { openCount.store(open - 1, ordering: .relaxed) }
    if open > 1 { return false }
    let count = followerCount.load(ordering: .sequentiallyConsistent)
    if count == 0 || receiver != nil && count == 1 { return receiver != nil }
    let scope = Scope.current
    if let transaction = scope?.transaction {
      for evaluation in followers { transaction.add(evaluation, path, scope?.edit) }
    } else if let onlyFollower {
      onlyFollower.report(ChangedPaths(path), scope?.edit)
    } else {
      // The observation of another path may have begun inside a set whose values are handed over.
      let evaluations = followers.filter { $0 !== receiver }
      // All key paths read their values before the first observer is called.
      for evaluation in evaluations { evaluation.add(ChangedPaths(path), scope?.edit) }
      for evaluation in evaluations { evaluation.teller.makeCalls() }
    }
    return receiver != nil
  }

  // MARK: Changes of an object that any thread may change

  /// The number of changes that have been made.
  var revision: UInt { changeCount.load(ordering: .sequentiallyConsistent) }

  /// Records a change with its values, under the lock of the class, so that changes have one order.
  func store<Value: Sendable>(_ old: Value, _ new: Value, _ edit: CollectionEdit?) {
    let number = changeCount.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    own?.add(old, new, number, edit)
  }

  /// Records a change whose values are not known.
  func noteChange() { changeCount.wrappingAdd(1, ordering: .sequentiallyConsistent) }

  /// Reports a change that has been recorded.
  ///
  /// - Parameter isStored: Whether it was recorded with its values.
  func reportShared(isStored: Bool) {
    // A getter has made the change: it is included in what the getter returns.
    Scope.current?.collector?.noteChange(of: self)
    let followers = followers
    for evaluation in followers where !(isStored && evaluation.isDirect) {
      evaluation.addNewest(path)
    }
    for evaluation in followers { evaluation.teller.makeCalls() }
  }
}
