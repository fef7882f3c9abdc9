import Campanile

/// The changes of one thread that are delivered as one.
final class Transaction: Sendable {
  /// Protected by the lock.
  private struct State {
    var isOpen = true
    /// The evaluations with deferred reports, in the order of their first change.
    var deferred: [Deferred] = []
    /// The changed properties of each object, by the key of its identity.
    var changes: [ObjectIdentifier: Changes] = [:]
  }

  /// An evaluation with a deferred report.
  private struct Deferred {
    let evaluation: Evaluation
    /// The change of the report.
    ///
    /// The observers of all evaluations with the same change are called in one order.
    let change: (property: ObservedProperty, number: UInt)
    /// Takes the report of the evaluation, on this thread or for the main actor.
    let take: (_ waits: Bool, inout Strays) -> ChangeReport?
  }

  /// The changed properties of one object.
  private struct Changes {
    /// Keeps another object from getting the same key, if this object dies meanwhile.
    let object: SubjectIdentity
    var paths = ChangedPaths(nil)
  }

  // SAFETY: a deferred report is delivered in the isolation that made the change.
  private let state = UncheckedLock(State())

  /// Whether it still accepts changes.
  ///
  /// A task that inherited the transaction may outlive it.
  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Adds an evaluation with a deferred report.
  ///
  /// `take` is called on this thread, at the end.
  ///
  /// - Parameter number: The number of the change of `property`.
  /// - Returns: Whether the transaction was still open.
  func add(
    _ evaluation: Evaluation, _ property: ObservedProperty, _ number: UInt,
    _ take: @escaping (_ waits: Bool, inout Strays) -> ChangeReport?
  ) -> Bool {
    let deferred = Deferred(evaluation: evaluation, change: (property, number), take: take)
    return state.withLock { state in
      if state.isOpen { state.deferred.append(deferred) }
      return state.isOpen
    }
  }

  /// Records that a property has changed.
  func note(_ path: KVOPath, of object: AnyObject) {
    let key = SubjectIdentity.key(of: object)
    state.withLock { state in
      // An object in its deinit cannot be observed until the end of the transaction.
      if state.changes[key] == nil && isDeinitializing(object) { return }
      state.changes[key, default: Changes(object: SubjectIdentity(object))].paths.add(path)
    }
  }

  /// The changed properties of the object with this key, in the order of their first change.
  func changedPaths(of key: ObjectIdentifier) -> ChangedPaths {
    state.withLock { $0.changes[key]?.paths ?? ChangedPaths(nil) }
  }

  /// Delivers the changes.
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
        var strays = Strays()
        // As without a transaction: stored changes of the property wait for each other.
        let waits = first.change.property.isTelling
        let telling = same.compactMap { one in
          one.take(waits, &strays).map { (one.evaluation, $0) }
        }
        strays.post()
        Evaluation.tell(telling)
      }
    }
  }
}
