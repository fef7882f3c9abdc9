internal import Campanile

extension KVOController {
  /// Makes an observation if the policy has it, and starts it.
  ///
  /// - Parameter register: Registers the observer, which keeps what it is given.
  private func add<Object: AnyObject, Value>(
    _ request: KVORequest<Object, Value>, _ policy: Policy,
    _ register: (
      _ owner: Owner, _ changes: SourceList<KVOChange<Value>>, _ object: ObjectReference<Object>,
      _ upstream: Upstream
    ) -> Registration
  ) -> KVOResult {
    guard let owner else { return KVOResult(.refused, SourceRegistry.endedRegistration) }
    let object = request.object
    let key = ObservationTable.Key(object, request.path)
    if policy == .ignore, let known = liveEntry(of: object, request.path, key) {
      return KVOResult(.alreadyObserved, known.registration)
    }
    let upstream = Upstream()
    let observation = KeyPathObservation(
      request, owner: owner, upstream: upstream, onError: onError)
    let isRetained = retainsObserved && object !== owner
    let registration = register(
      owner, observation.changes, ObjectReference(object, isRetained: isRetained), upstream)
    // Made when it is asked for; it keeps nothing of the object.
    let text: @Sendable () -> String = {
      [
        path = request.path, options = request.options.names, file = request.file,
        line = request.line
      ] in
      "\(Object.self) \(path) \(options) (\(file):\(line))"
    }
    let entry = ObservationTable.Entry(
      object: SubjectReference(object), path: request.path, registration: registration, text: text)
    if let known = enter(entry, key, of: object, policy) {
      registration.cancel()
      return KVOResult(.alreadyObserved, known)
    }
    forgetEnded()
    if observation.start(for: registration) { return KVOResult(.added, registration) }
    registration.cancel()
    request.warnOfNothing()
    return KVOResult(.nothingObserved, registration)
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

  /// Registers an observer that stays in the isolation of the change.
  func addConfined<Object: AnyObject, Value>(
    _ request: KVORequest<Object, Value>, _ policy: Policy,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(request, policy) { owner, changes, object, upstream in
      changes.addConfined(
        owner: owner, isOnce: request.options.isOnce, file: request.file, line: request.line
      ) { [weak owner] change in
        guard let owner, let object = object.object else { throw SourceRegistry.endOfObservation }
        try handler(owner, object, change)
        withExtendedLifetime(upstream) {}
      }
    }
  }
}

extension KVOController where Owner: Sendable {
  /// Registers an observer that may run on any thread.
  func addShared<Object: SharedObservable, Value: Sendable>(
    _ request: KVORequest<Object, Value>, _ policy: Policy,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(request, policy) { owner, changes, object, upstream in
      Signal(base: ChangeSource(list: changes)).observe(
        owner: owner, request.options.isOnce ? .once : [], file: request.file, line: request.line
      ) { owner, change in
        guard let object = object.object else { throw SourceRegistry.endOfObservation }
        try handler(owner, object, change)
        withExtendedLifetime(upstream) {}
      }
    }
  }
}
