import Campanile

/// The changes of one thread that are told as one.
final class Transaction: Sendable {
  /// Protected by the lock.
  private struct State {
    var isOpen = true
    /// Those who have something to tell, in the order of their first change.
    var deferred: [Deferred] = []
    /// What has changed in each object, by the key of its identity.
    var changes: [ObjectIdentifier: Changes] = [:]
  }

  /// Who has something to tell.
  private struct Deferred {
    let evaluation: Evaluation
    /// Which change it was: of several who tell one change, the observers are called in one order.
    let change: (property: ObservedProperty, number: UInt)
    /// What it has to tell on this thread, now.
    let take: () -> ChangeReport?
  }

  /// What has changed in one object.
  private struct Changes {
    /// Keeps its key from being another object's, should it die meanwhile.
    let object: SubjectIdentity
    var paths = ChangedPaths(nil)
  }

  // SAFETY: what is kept back is reported by the isolation that made the change.
  private let state = UncheckedLock(State())

  /// Whether it still takes changes in: a task may have taken it over and outlive it.
  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Takes in who has a change to tell; `take` is called on this thread, at the end.
  ///
  /// - Returns: Whether the transaction was still open.
  func add(
    _ evaluation: Evaluation, _ property: ObservedProperty,
    _ take: @escaping () -> ChangeReport?
  ) -> Bool {
    let deferred = Deferred(
      evaluation: evaluation, change: (property, property.revision), take: take)
    return state.withLock { state in
      if state.isOpen { state.deferred.append(deferred) }
      return state.isOpen
    }
  }

  /// Takes in that a property has changed.
  func note(_ path: KVOPath, of object: AnyObject) {
    let key = SubjectIdentity.key(of: object)
    state.withLock { state in
      // Nobody follows an object in its deinit to the end of the transaction.
      if state.changes[key] == nil && isDeinitializing(object) { return }
      state.changes[key, default: Changes(object: SubjectIdentity(object))].paths.add(path)
    }
  }

  /// The properties that have changed of the object with this key, in the order of their first change.
  func changedPaths(of key: ObjectIdentifier) -> ChangedPaths {
    state.withLock { $0.changes[key]?.paths ?? ChangedPaths(nil) }
  }

  /// Tells what has changed.
  func close() {
    let deferred = state.withLock { state in
      state.isOpen = false
      defer { state.deferred = [] }
      return state.deferred
    }
    var rest = deferred[...]
    while let first = rest.first {
      let same = rest.prefix {
        $0.change.property === first.change.property && $0.change.number == first.change.number
      }
      rest = rest.dropFirst(same.count)
      Scope.withObservers {
        Evaluation.tell(same.compactMap { one in one.take().map { (one.evaluation, $0) } })
      }
    }
  }
}
