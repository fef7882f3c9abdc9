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
    guard let owner else {
      unobserveAll()
      return KVOResult(.refused, SourceRegistry.endedRegistration)
    }
    let id = ObjectIdentifier(object)
    // An observation that is appended is added whatever others there are, so they are not looked at.
    let (same, place) =
      policy == .append ? ([], place(of: id, request.path)) : entries(of: id, request.path)
    if policy == .ignore, let known = same.first(where: { $0.isLive(of: object) }) {
      return KVOResult(.alreadyObserved, known.registration)
    }
    var known: Registration?
    var isSuspicious = false
    let (registration, isObserved) = request.observe(
      object, reading: makeRead, owner: reference.erased, lifetime: lifetime,
      { registration, root in
        known = enter(registration, object, root, request, same, place, policy, &isSuspicious)
        return known == nil
      }
    ) { seat, root in
      let kept = retainsObserved && owner !== object ? object : nil
      return Self.observer(seat, reference, root, keeping: kept, onError, request, handler)
    }
    if let known { return KVOResult(.alreadyObserved, known) }
    if isSuspicious { forgetEnded() }
    if isObserved { return KVOResult(.added, registration) }
    request.warnOfNothing(type(of: object))
    return KVOResult(.nothingObserved, registration)
  }

  /// The observer that calls the handler with the owner and the object, if both live.
  ///
  /// - Parameter kept: The object, if the observer keeps it alive.
  private static func observer<Object: AnyObject, Value>(
    _ seat: ObserverSeat, _ owner: OwnerReference<Owner>, _ root: OwnerReference<Object>,
    keeping kept: AnyObject?, _ onError: (@Sendable (ObserverFailure) -> Void)?,
    _ request: KVORequest,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> (KVOChange<Value>) throws -> Void {
    let observer = { (change: KVOChange<Value>) in
      // `root.object` isn't `nil` while the observer keeps the object.
      guard let owner = owner.object, let object = root.object, kept == nil || kept === object
      else { throw SourceRegistry.endOfObservation }
      if seat.isOpen(for: change) {
        try handler(owner, object, change)
      } else {
        try seat.call(change) { try handler(owner, object, $0) }
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
  ///   - place: The place for the new entry, valid unless another entry has been added since.
  ///   - isSuspicious: On return, whether ended entries have to be looked for.
  /// - Returns: The existing registration, if the policy is to keep it.
  private func enter<Object: AnyObject>(
    _ registration: Registration, _ object: Object, _ root: OwnerReference<Object>,
    _ request: KVORequest, _ same: [ObservationTable.Entry], _ place: ObservationTable.Place,
    _ policy: Policy, _ isSuspicious: inout Bool
  ) -> Registration? {
    var (same, place) = (same, place)
    let id = ObjectIdentifier(object)
    let text = ObservationTable.Entry.Text(
      objectType: type(of: object), wishes: request.wishes, file: request.file, line: request.line)
    while true {
      let entry = ObservationTable.Entry(
        object: root.erased, id, request.path, registration, text, at: place)
      var isAdded = false
      observations.withLock { [same] observations in
        isAdded = observations.add(entry, isForced: policy == .append)
        if isAdded && policy != .append && !same.isEmpty { observations.remove(same) }
        isSuspicious = observations.isSuspicious
      }
      if isAdded {
        if policy != .append { end(same) }
        return nil
      }
      if policy == .append {
        place = self.place(of: id, request.path)
        continue
      }
      (same, place) = entries(of: id, request.path)
      if policy == .ignore, let live = same.first(where: { $0.isLive(of: object) }) {
        return live.registration
      }
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
