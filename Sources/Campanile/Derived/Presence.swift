extension Broadcaster {
  /// Whether the broadcaster has observers, as a state: start costly work with the first one, and stop
  /// it with the last.
  ///
  /// ```swift
  /// token = levels.isObserved.observe(options: .initial) { isObserved in
  ///   if isObserved { microphone.start() } else { microphone.stop() }
  /// }
  /// ```
  ///
  /// Observers of the state are called by the thread that registers the first observer or ends the
  /// last one, under no lock. An observer whose owner has died without a ``Lifetime`` counts until the
  /// death is noticed. Until this property is first read, it costs a registration and an end one load
  /// each.
  public var isObserved: ReadOnlyState<Bool> { registry.presence(in: list) }
}

extension CurrentValue {
  /// Whether the state has observers, as ``Broadcaster/isObserved`` says.
  ///
  /// An observed state that is derived from this one counts as an observer.
  public var isObserved: ReadOnlyState<Bool> { registry.presence(in: list) }
}

extension ObserverRegistry {
  fileprivate func presence(in list: ObserverList) -> ReadOnlyState<Bool> {
    let hook = presence.load() ?? makePresence(of: list)
    // `makePresence` stores no other object.
    return (hook.state as! CurrentValue<Bool>).readOnly
  }

  private func makePresence(of list: ObserverList) -> PresenceHook {
    let state = CurrentValue(!list.isEmpty)
    // In the state's turn, so that the last look is the newest.
    let look: @Sendable () -> Void = { [weak list] in
      state.storage.inTurn(Post()) {
        let isObserved = list.map { !$0.isEmpty } ?? false
        if state.value != isObserved { state.storage.store(isObserved, trackedBy: nil) }
      }
    }
    let hook = presence.storeIfNil(
      PresenceHook(state: state, look: look, finish: { state.finish() }))
    // It may have changed before the state was there.
    hook.look()
    return hook
  }
}
