extension MessageCenter {
  /// The last message of a type as a state, so that a late observer can begin with it.
  ///
  /// ```swift
  /// center.latest(of: TrackChanged.self).observe(owner: self, on: .main, options: .initial) {
  ///   screen, message in screen.title = message?.title ?? "nothing"
  /// }
  /// ```
  ///
  /// The center remembers the last message of a type from the first call of this method for that
  /// type until the center ends, so call it where the program starts, before the first message.
  /// Until then the value is `nil`. The first call registers an observer, which stores a message
  /// when the post reaches it, in the order of registration. ``postAndWait(_:)`` also waits for the
  /// observers of the state. The center's `failures` report the errors of these observers.
  ///
  /// If that observer is canceled, for instance as one of the center's ``Traceable/registrations``,
  /// the observations of the state end, and the next call of this method returns another state without a message.
  ///
  /// - Parameters:
  ///   - type: The type of the messages, about any subject or none.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  /// - Returns: A state that does not keep the center alive. When the center ends, the observations
  ///   of the state end, and the state keeps its value.
  @_optimize(size)
  public func latest<M: Message>(
    of type: M.Type, file: StaticString = #fileID, line: UInt = #line
  ) -> ReadOnlyState<M?> {
    let id = ObjectIdentifier(type)
    // A type's state is kept under the identity of the type, and finishes with its registration.
    let known = latestMessages.withLock { $0[id] } as! CurrentValue<M?>?
    if let known, !known.registry.withState({ $0.isFinished }) { return known.readOnly }
    // Registered before it is published, so that code that finds it there misses no later message.
    let new = CurrentValue<M?>(nil, registry: ObserverRegistry(upstream: [registry]))
    let body = ObserverBody<M>(
      tap: { new.storage.set($0, trackedBy: $1.tracker) }, onEnd: { new.finish() })
    let request = ObservationRequest(CallSite(file: file, line: line))
    let registration = register(request, body)
    // A center that has ended registers nothing, and keeps what it remembers.
    let mayReplace = registration.isActive
    let winner = latestMessages.withLock { latest -> any AnyObject & Sendable in
      if let other = latest[id], other !== known || !mayReplace { return other }
      latest.put(new, for: id)
      return new
    }
    if winner !== new { registration.cancel() }
    return (winner as! CurrentValue<M?>).readOnly
  }
}

extension MessageCenter {
  /// The last message of a type about a subject as a state.
  ///
  /// It takes the messages that are posted after this call. Unlike the state that
  /// ``latest(of:file:line:)`` returns, it is not kept by the center, so keep it for as long as the
  /// message is to be remembered.
  ///
  /// - Parameters:
  ///   - type: The type of the messages.
  ///   - subject: The subject, which is not kept.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  /// - Returns: A state that observes the center for as long as the state is kept or observed. Its
  ///   value is `nil` until the first message.
  public func latest<M: Message>(
    of type: M.Type, about subject: M.Subject, file: StaticString = #fileID, line: UInt = #line
  ) -> ReadOnlyState<M?> {
    let messages = messages(of: type, about: subject).map { Optional($0) }
    let location = CallSite(file: file, line: line)
    return CurrentValue(
      nil, registry: ObserverRegistry(upstream: [registry]), lastOf: (messages, location)
    ).readOnly
  }
}
