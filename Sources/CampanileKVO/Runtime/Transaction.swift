import Campanile

/// The changes of one thread that are told as one.
final class Transaction: Sendable {
  /// Protected by the lock.
  private struct State {
    var isOpen = true
    /// Those who have something to tell, in the order of their first change.
    var deferred: [() -> Void] = []
    /// What has changed, in the order of the first changes.
    var changed: [(subject: ObjectIdentifier, path: KVOPath)] = []
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

  func note(_ path: KVOPath, of subject: ObjectIdentifier) {
    state.withLock { state in
      if state.changed.contains(where: { $0.subject == subject && $0.path == path }) { return }
      state.changed.append((subject, path))
    }
  }

  /// The properties of an object that have changed.
  func changedPaths(of subject: ObjectIdentifier) -> [KVOPath] {
    state.withLock { $0.changed.filter { $0.subject == subject }.map(\.path) }
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
