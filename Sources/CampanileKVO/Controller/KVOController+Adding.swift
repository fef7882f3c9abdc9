internal import Campanile

extension KVOController {
  /// Makes an observation if the policy allows it, and starts it.
  ///
  /// - Parameters:
  ///   - makeRead: Makes the closure that reads the value, if the key path has no evaluation yet.
  ///   - handler: For an object that any thread may change, it is `Sendable`.
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
  /// - Parameter make: Makes the observer, given its gate, the object, and the object again if the
  ///   observer keeps it alive.
  func addObserver<Object: AnyObject, Value>(
    _ object: Object, _ request: KVORequest, _ policy: Policy,
    reading makeRead: () -> (Object) -> Value, onEnd: (@Sendable () -> Void)? = nil,
    _ make: (ObserverGate, OwnerReference<Object>, AnyObject?) -> (KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    let text = ObservationTable.Entry.Text(
      path: request.path, ownerType: Owner.self, objectType: type(of: object),
      wishes: request.wishes, file: request.file, line: request.line)
    guard let owner else {
      unobserveAll()
      let ended = SourceList(of: Never.self).ended
      return KVOResult(outcome: .refused, registration: ended, text: text)
    }
    let id = ObjectIdentifier(object)
    // An observation that is appended is added whatever others there are, so they are not looked at.
    let (same, additions) = policy == .append ? ([], 0) : entries(of: id, request.path)
    var known = policy == .ignore ? same.first { $0.isLive(of: object) } : nil
    if let known { return known.result }
    let (registration, isObserved) = request.observe(
      object, reading: makeRead, owner: reference.erased, lifetime: lifetime,
      { registration, root in
        let entry = ObservationTable.Entry(root.erased, id, registration, text)
        known = enter(entry, object, same, additions, policy)
        return known == nil
      }, onEnd: onEnd
    ) { gate, root in make(gate, root, retainsObserved && owner !== object ? object : nil) }
    return known?.result
      ?? KVOResult(
        outcome: isObserved ? .added : .nothingObserved, registration: registration, text: text)
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
      else { throw ObservationIsOver() }
      // A closure that is made only where it is needed.
      if gate.isOpen(for: change) { return try handler(owner, object, change) }
      try gate.call(change) { try handler(owner, object, $0) }
    }
    guard let onError else { return observer }
    return { [file = request.file, line = request.line] change in
      try Self.call(onError, KVOChange<Value>.self, file, line) { try observer(change) }
    }
  }

  /// Runs an observer, and passes its error to the handler of the controller, if there is one.
  static func call(
    _ onError: (@Sendable (ObserverFailure) -> Void)?, _ type: any Any.Type, _ file: StaticString,
    _ line: UInt, _ observer: () throws -> Void
  ) throws {
    do {
      try observer()
    } catch {
      guard let onError, !(error is ObservationIsOver) else { throw error }
      let location = CallSite(file: file, line: line)
      onError(ObserverFailure(error: error, valueType: type, location: location))
    }
  }

  /// Adds an entry to the table, or returns the existing one if the policy is to keep that.
  ///
  /// - Parameters:
  ///   - same: The entries of the key path at the time of the look-up.
  ///   - additions: The number of additions at that time.
  private func enter(
    _ entry: ObservationTable.Entry, _ object: AnyObject, _ same: [ObservationTable.Entry],
    _ additions: Int, _ policy: Policy
  ) -> ObservationTable.Entry? {
    var (same, additions) = (same, additions)
    while true {
      var isAdded = false
      var suspects: [ObservationTable.Entry] = []
      observations.withLock { [same, additions] observations in
        isAdded = observations.add(entry, after: policy == .append ? nil : additions)
        if !isAdded { return }
        if !same.isEmpty { observations.remove(same) }
        suspects = observations.suspects()
      }
      if isAdded {
        end(same)
        if !suspects.isEmpty { forgetEnded(among: suspects) }
        return nil
      }
      (same, additions) = entries(of: entry.objectID, entry.path)
      if policy == .ignore, let live = same.first(where: { $0.isLive(of: object) }) { return live }
    }
  }

  /// Removes entries that have ended by themselves, and ends the observations of objects that have
  /// died unnoticed.
  private func forgetEnded(among suspects: [ObservationTable.Entry]) {
    let ended = suspects.filter { !$0.isLive }
    observations.withLock { $0.remove(ended) }
    end(ended)
  }
}
