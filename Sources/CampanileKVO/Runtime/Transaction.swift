import Campanile

/// The changes of one thread that are told as one.
final class Transaction: Sendable {
  /// Protected by the lock.
  private struct State {
    var isOpen = true
    /// Those who have something to tell, in the order of their first change.
    var deferred: [() -> Void] = []
    /// What has changed in each object.
    var changes: [ObjectIdentifier: Changes] = [:]
  }

  /// What has changed in one object.
  private struct Changes {
    /// Keeps its address from being another object's, should it die meanwhile.
    let object: SubjectIdentity
    var paths = ChangedPaths(nil)
  }

  private let state = Locked(State())

  /// Whether it still takes changes in: a task may have taken it over and outlive it.
  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Takes in who has a change to tell; `tell` is called on this thread, at the end.
  ///
  /// - Returns: whether the transaction was still open.
  func add(_ tell: @escaping () -> Void) -> Bool {
    state.withLock { state in
      if state.isOpen { state.deferred.append(tell) }
      return state.isOpen
    }
  }

  /// Takes in that a property has changed.
  func note(_ path: KVOPath, of object: AnyObject) {
    state.withLock { state in
      state.changes[ObjectIdentifier(object), default: Changes(object: SubjectIdentity(object))]
        .paths.add(path)
    }
  }

  /// The properties of an object that have changed, in the order of their first change.
  func changedPaths(of object: ObjectIdentifier) -> ChangedPaths {
    state.withLock { $0.changes[object]?.paths ?? ChangedPaths(nil) }
  }

  /// Tells what has changed.
  func close() {
    let deferred = state.withLock { state in
      state.isOpen = false
      defer { state.deferred = [] }
      return state.deferred
    }
    for tell in deferred { tell() }
  }
}
