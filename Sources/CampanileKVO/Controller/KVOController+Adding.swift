internal import Campanile

/// One call to `observe`, whatever its form.
struct KVORequest<Object: AnyObject, Value> {
  let object: Object
  let path: KVOPath
  var read: (Object) -> Value
  let options: KVOOptions<Value>
  let policy: KVOPolicy
  /// Whether the key path is read on the main actor alone.
  let isOnMain: Bool
  let file: StaticString
  let line: UInt

  init(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOOptions<Value>,
    _ policy: KVOPolicy, isOnMain: Bool, _ file: StaticString, _ line: UInt
  ) {
    self.init(object, keyPath, { $0[keyPath: keyPath] }, options, policy, isOnMain, file, line)
  }

  init(
    _ object: Object, _ keyPath: PartialKeyPath<Object>, _ options: KVOOptions<Any>,
    _ policy: KVOPolicy, isOnMain: Bool, _ file: StaticString, _ line: UInt
  ) where Value == Any {
    self.init(object, keyPath, { $0[keyPath: keyPath] }, options, policy, isOnMain, file, line)
  }

  /// One of several key paths of several types.
  init<Member: Sendable>(
    _ object: Object, erasing keyPath: KeyPath<Object, Member>, _ options: KVOOptions<any Sendable>,
    _ policy: KVOPolicy, isOnMain: Bool, _ file: StaticString, _ line: UInt
  ) where Value == any Sendable {
    self.init(object, keyPath, { $0[keyPath: keyPath] }, options, policy, isOnMain, file, line)
  }

  private init(
    _ object: Object, _ keyPath: AnyKeyPath, _ read: @escaping (Object) -> Value,
    _ options: KVOOptions<Value>, _ policy: KVOPolicy, _ isOnMain: Bool, _ file: StaticString,
    _ line: UInt
  ) {
    self.object = object
    path = KVOPath(keyPath)
    self.read = read
    self.options = options
    self.policy = policy
    self.isOnMain = isOnMain
    self.file = file
    self.line = line
  }

  var traits: PathObservation.Traits {
    .init(
      path: path, needsOld: options.needsOld, isDistinct: options.areEqual != nil,
      isOnMain: isOnMain, file: file, line: line)
  }
}

extension KVOController {
  /// Makes an observation if the policy has it, and starts it.
  ///
  /// - Parameter register: Registers the observer, which keeps what it is given.
  func add<Object: AnyObject, Value>(
    _ request: KVORequest<Object, Value>, delivery: String,
    _ register: (
      _ changes: SourceList<KVOChange<Value>>, _ object: ObjectReference<Object>,
      _ upstream: Upstream
    ) -> Registration
  ) -> KVOResult {
    let object = request.object
    let upstream = Upstream()
    let observation = KeyPathObservation(
      request, owner: owner, upstream: upstream, onError: onError)
    let isRetained = retainsObserved && object !== owner
    let registration = register(
      observation.changes, ObjectReference(object, isRetained: isRetained), upstream)
    // Made when it is asked for; it keeps nothing of the object.
    let text: @Sendable () -> String = {
      [
        path = request.path, options = request.options.names, file = request.file,
        line = request.line
      ] in
      "\(Object.self) \(path) \(options) on \(delivery) (\(file):\(line))"
    }
    let entry = ObservationTable.Entry(
      object: SubjectReference(object), path: request.path, registration: registration, text: text)
    guard let removed = enter(entry, of: object, request.policy) else {
      registration.cancel()
      return .alreadyObserved
    }
    end(removed)
    forgetEnded()
    observation.start(for: registration)
    return .added
  }

  /// Puts an entry in its place, if the policy has it.
  ///
  /// - Returns: the entries that have left theirs, or `nil` if it was refused.
  private func enter(
    _ entry: ObservationTable.Entry, of object: AnyObject, _ policy: KVOPolicy
  ) -> [ObservationTable.Entry]? {
    while true {
      let known = entries(of: ObjectIdentifier(object))
      let same = ObservationTable.Numbers(of: known) { $0.path == entry.path }
      // The one place where it is decided: what was there, what is there now.
      var action = ObservationTable.AddAction.outdated
      observations.withLock {
        action = $0.add(entry, of: object, policy, same: same, newest: known.last?.number)
      }
      switch action {
      case .added(let removed): return removed
      case .refused: return nil
      case .outdated: continue
      }
    }
  }

  /// Forgets what has ended by itself, once in a while.
  private func forgetEnded() {
    let ended = observations.withLock { $0.suspects() }.filter { !$0.isLive }
    if ended.isEmpty { return }
    let forgotten = observations.withLock { $0.forget(Set(ended.map(\.number))) }
    withExtendedLifetime(forgotten) {}
  }

  /// Registers an observer that stays in the isolation of the change.
  ///
  /// - Parameter delivery: Another place to call it, which then is the isolation that it belongs to.
  func addConfined<Object: AnyObject, Value>(
    _ request: KVORequest<Object, Value>, on delivery: Delivery = .immediate,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    guard let owner else { return .refused }
    return add(request, delivery: delivery.description) { changes, object, upstream in
      changes.addConfined(
        owner: owner, isOnce: request.options.isOnce, on: delivery, file: request.file,
        line: request.line
      ) { [weak owner] change in
        guard let owner, let object = object.object else { throw SourceRegistry.endOfObservation }
        try handler(owner, object, change)
        withExtendedLifetime(upstream) {}
      }
    }
  }
}

extension KVOController where Owner: Sendable {
  /// Registers an observer that may run anywhere.
  func add<Object: AnyObject & Sendable, Value: Sendable>(
    _ request: KVORequest<Object, Value>, on delivery: Delivery, _ buffering: Buffering,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    guard let owner else { return .refused }
    return add(request, delivery: delivery.description) { changes, object, upstream in
      Signal(base: ChangeSource(list: changes)).observe(
        owner: owner, on: delivery, buffering: buffering,
        request.options.isOnce ? .once : [], file: request.file, line: request.line
      ) { owner, change in
        guard let object = object.object else { throw SourceRegistry.endOfObservation }
        try handler(owner, object, change)
        withExtendedLifetime(upstream) {}
      }
    }
  }

  /// Registers an observer that is isolated to the main actor.
  func add<Object: AnyObject & Sendable, Value: Sendable>(
    _ request: KVORequest<Object, Value>, on delivery: MainDelivery, _ buffering: Buffering,
    _ handler: @escaping @MainActor @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    guard let owner else { return .refused }
    return add(request, delivery: ".main") { changes, object, upstream in
      Signal(base: ChangeSource(list: changes)).observe(
        owner: owner, on: delivery, buffering: buffering,
        request.options.isOnce ? .once : [], file: request.file, line: request.line
      ) { owner, change in
        guard let object = object.object else { throw SourceRegistry.endOfObservation }
        try handler(owner, object, change)
        withExtendedLifetime(upstream) {}
      }
    }
  }
}
