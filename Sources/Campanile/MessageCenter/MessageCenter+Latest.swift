extension MessageCenter {
  /// The last message of a type, about any subject or none, as a state, so that a late observer can
  /// begin with it.
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
  /// the observations of the state end, and the next call of this method returns another state
  /// without a message.
  ///
  /// - Returns: A state that does not keep the center alive. When the center ends, the observations
  ///   of the state end, and the state keeps its value.
  public func latest<M: Message>(
    of type: M.Type, file: StaticString = #fileID, line: UInt = #line
  ) -> ReadOnlyState<M?> {
    let id = ObjectIdentifier(type)
    // A type's state is kept under the identity of the type, and finishes with its registration.
    let known = latestMessages.withLock { $0[id] } as! CurrentValue<M?>?
    if let known, !known.isFinished { return known.readOnly }
    // Registered before it is published, so that code that finds it there misses no later message.
    let new = state(of: messages(of: type), CallSite(file: file, line: line))
    // A center that has ended registers nothing, and keeps what it remembers.
    let mayReplace = !new.isFinished
    let winner = latestMessages.withLock { latest -> any AnyObject & Sendable in
      if let other = latest[id], other !== known || !mayReplace { return other }
      latest.put(new, for: id)
      return new
    }
    return (winner as! CurrentValue<M?>).readOnly
  }

  /// The last message of a type about a subject as a state.
  ///
  /// It takes the messages that are posted after this call, and does not keep the subject. Unlike the
  /// state that ``latest(of:file:line:)`` returns, it is not kept by the center, so keep it for as
  /// long as the message is to be remembered.
  ///
  /// - Returns: A state that observes the center for as long as the state is kept or observed. Its
  ///   value is `nil` until the first message.
  public func latest<M: Message>(
    of type: M.Type, about subject: M.Subject, file: StaticString = #fileID, line: UInt = #line
  ) -> ReadOnlyState<M?> {
    state(of: messages(of: type, about: subject), CallSite(file: file, line: line)).readOnly
  }

  private func state<M: Message>(
    of messages: Messages<M>, _ location: CallSite
  ) -> CurrentValue<M?> {
    CurrentValue(
      nil, registry: ObserverRegistry(upstream: [registry]),
      lastOf: (messages.map { Optional($0) }, location))
  }
}

extension CurrentValue {
  fileprivate var isFinished: Bool { registry.withState { $0.isFinished } }
}
