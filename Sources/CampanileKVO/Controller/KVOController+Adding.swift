internal import Campanile

extension KVOController {
  /// Makes an observation if the policy allows it, and starts it.
  ///
  /// - Parameters:
  ///   - request: The key path and the options.
  ///   - makeRead: Makes the closure that reads the value, if the key path has no evaluation yet.
  ///   - handler: Called for each change. For an object that any thread may change, it is
  ///     `Sendable`.
  func add<Object: AnyObject, Value>(
    _ object: Object, _ request: KVORequest, _ policy: Policy,
    reading makeRead: () -> (Object) -> Value,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    addObserver(object, request, policy, reading: makeRead) { gate, root, kept in
      Self.observer(gate, reference, root, keeping: kept, onError, request, handler)
    }
  }

  /// Makes an observation if the policy allows it, and starts it.
  ///
  /// - Parameters:
  ///   - onEnd: Called once the registration has ended.
  ///   - make: Makes the observer, given its gate, the object, and the object again if the observer
  ///     keeps it alive.
  func addObserver<Object: AnyObject, Value>(
    _ object: Object, _ request: KVORequest, _ policy: Policy,
    reading makeRead: () -> (Object) -> Value, onEnd: (@Sendable () -> Void)? = nil,
    _ make: (ObserverGate, OwnerReference<Object>, AnyObject?) -> (KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    let text = ObservationTable.Entry.Text(
      objectType: type(of: object), wishes: request.wishes, file: request.file, line: request.line)
    func result(_ outcome: KVOResult.Outcome, _ registration: Registration) -> KVOResult {
      KVOResult(outcome, registration, request.path, text, Owner.self)
    }
    guard let owner else {
      unobserveAll()
      return result(.refused, SourceRegistry.endedRegistration)
    }
    let id = ObjectIdentifier(object)
    // An observation that is appended is added whatever others there are, so they are not looked at.
    let (same, additions) = policy == .append ? ([], 0) : entries(of: id, request.path)
    if policy == .ignore, let known = same.first(where: { $0.isLive(of: object) }) {
      return KVOResult(.alreadyObserved, known.registration, known.path, known.text, Owner.self)
    }
    var known: ObservationTable.Entry?
    var isSuspicious = false
    let (registration, isObserved) = request.observe(
      object, reading: makeRead, owner: reference.erased, lifetime: lifetime,
      { registration, root in
        known = enter(
          registration, object, root, request.path, text, same, additions, policy, &isSuspicious)
        return known == nil
      }, onEnd: onEnd
    ) { gate, root in make(gate, root, retainsObserved && owner !== object ? object : nil) }
    if let known {
      return KVOResult(.alreadyObserved, known.registration, known.path, known.text, Owner.self)
    }
    if isSuspicious { forgetEnded() }
    if isObserved { return result(.added, registration) }
    request.warnOfNothing(type(of: object))
    return result(.nothingObserved, registration)
  }

  /// The observer that calls the handler with the owner and the object, if both live.
  ///
  /// - Parameter kept: The object, if the observer keeps it alive.
  private static func observer<Object: AnyObject, Value>(
    _ gate: ObserverGate, _ owner: OwnerReference<Owner>, _ root: OwnerReference<Object>,
    keeping kept: AnyObject?, _ onError: (@Sendable (ObserverFailure) -> Void)?,
    _ request: KVORequest,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> (KVOChange<Value>) throws -> Void {
    let observer = { (change: KVOChange<Value>) in
      // `root.object` isn't `nil` while the observer keeps the object.
      guard let owner = owner.object, let object = root.object, kept == nil || kept === object
      else { throw SourceRegistry.endOfObservation }
      if gate.isOpen(for: change) {
        try handler(owner, object, change)
      } else {
        try gate.call(change) { try handler(owner, object, $0) }
      }
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

  /// Adds a registration to the table, if the policy allows it.
  ///
  /// - Parameters:
  ///   - same: The entries of the key path at the time of the look-up.
  ///   - additions: The number of additions at that time.
  ///   - isSuspicious: On return, whether ended entries have to be looked for.
  /// - Returns: The existing entry, if the policy is to keep it.
  private func enter<Object: AnyObject>(
    _ registration: Registration, _ object: Object, _ root: OwnerReference<Object>,
    _ path: KVOPath, _ text: ObservationTable.Entry.Text, _ same: [ObservationTable.Entry],
    _ additions: Int, _ policy: Policy, _ isSuspicious: inout Bool
  ) -> ObservationTable.Entry? {
    var (same, additions) = (same, additions)
    let id = ObjectIdentifier(object)
    let entry = ObservationTable.Entry(object: root.erased, id, path, registration, text)
    while true {
      var isAdded = false
      observations.withLock { [same, additions] observations in
        isAdded = observations.add(entry, after: policy == .append ? nil : additions)
        if isAdded && !same.isEmpty { observations.remove(same) }
        isSuspicious = observations.isSuspicious
      }
      if isAdded {
        end(same)
        return nil
      }
      (same, additions) = entries(of: id, path)
      if policy == .ignore, let live = same.first(where: { $0.isLive(of: object) }) { return live }
    }
  }

  /// Removes entries that have ended by themselves, once in a while, and ends the observations of
  /// objects that have died unnoticed.
  private func forgetEnded() {
    var suspects: [ObservationTable.Entry] = []
    observations.withLock { suspects = $0.suspects() }
    if suspects.isEmpty { return }
    let ended = suspects.filter { !$0.isLive }
    if ended.isEmpty { return }
    observations.withLock { $0.forget(ended) }
    end(ended)
  }
}
