internal import Campanile

extension KVOController {
  /// Makes an observation if the policy has it, and starts it.
  ///
  /// - Parameter request: What is observed; for an object that any thread may change, `handler` is Sendable.
  func add<Object: AnyObject, Value>(
    _ request: KVORequest<Object, Value>, _ policy: Policy,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    guard let owner else { return KVOResult(.refused, SourceRegistry.endedRegistration) }
    let object = request.object
    let key = ObservationTable.Key(object, request.path)
    if policy == .ignore, let known = liveEntry(of: object, request.path, key) {
      return KVOResult(.alreadyObserved, known.registration)
    }
    var known: Registration?
    let (registration, isObserved) = KeyPathEvaluation.observe(
      request, owner: owner,
      { registration in
        known = enter(entry(for: registration, request), key, of: object, policy)
        return known == nil
      }, observer(request, handler))
    if let known { return KVOResult(.alreadyObserved, known) }
    forgetEnded()
    if isObserved { return KVOResult(.added, registration) }
    request.warnOfNothing()
    return KVOResult(.nothingObserved, registration)
  }

  private func observer<Object: AnyObject, Value>(
    _ request: KVORequest<Object, Value>,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> (KVOChange<Value>) throws -> Void {
    let owner = reference
    let isRetained = retainsObserved && request.object !== owner.object
    let object = ObjectReference(request.object, isRetained: isRetained)
    let observer = { (change: KVOChange<Value>) in
      guard let owner = owner.object, let object = object.object else {
        throw SourceRegistry.endOfObservation
      }
      try handler(owner, object, change)
    }
    guard let onError else { return observer }
    return { [file = request.file, line = request.line] change in
      do {
        try observer(change)
      } catch {
        try SourceRegistry.report(
          error, of: KVOChange<Value>.self, file: file, line: line, to: onError)
      }
    }
  }

  private func entry<Object: AnyObject, Value>(
    for registration: Registration, _ request: KVORequest<Object, Value>
  ) -> ObservationTable.Entry {
    // Made when it is asked for; it keeps nothing of the object.
    let text: @Sendable () -> String = {
      [
        path = request.path, options = request.options.names, file = request.file,
        line = request.line
      ] in
      "\(Object.self) \(path) \(options) (\(file):\(line))"
    }
    return ObservationTable.Entry(
      object: OwnerReference(request.object), path: request.path, registration: registration,
      text: text)
  }

  /// Puts an entry in its place, if the policy has it.
  ///
  /// - Returns: The registration that is there already, if that is to stay.
  private func enter(
    _ entry: ObservationTable.Entry, _ key: ObservationTable.Key, of object: AnyObject,
    _ policy: Policy
  ) -> Registration? {
    while true {
      var known: [ObservationTable.Entry] = []
      var same: [ObservationTable.Entry] = []
      if policy != .append {
        known = observations.withLock { $0.entries(for: key) }
        same = known.filter { $0.path == entry.path }
        let live = same.first { $0.isLive(of: object) }
        if policy == .ignore, let live { return live.registration }
      }
      let removed = Set(same.map(\.number))
      var isAdded = false
      observations.withLock {
        isAdded = policy == .append || $0.newest(for: key) == known.last?.number
        if isAdded { $0.add(entry, key, insteadOf: removed) }
      }
      if isAdded {
        end(same)
        return nil
      }
    }
  }

  /// Forgets what has ended by itself, once in a while.
  private func forgetEnded() {
    let ended = observations.withLock { $0.suspects() }.filter { !$0.isLive }
    if ended.isEmpty { return }
    let numbers = Set(ended.map(\.number))
    observations.withLock { $0.forget(numbers) }
    // Released here, and not under the lock.
    withExtendedLifetime(ended) {}
  }
}
