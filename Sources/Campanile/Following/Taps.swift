/// The states that a derived state is computed from, each of them once, however many ways lead there.
final class Taps {
  /// By the identity of the state.
  private var found: [(id: ObjectIdentifier, slot: any Slot)] = []
  var slots: [any Slot] { found.map(\.slot) }

  /// Reads a state.
  ///
  /// - Returns: A closure that returns the newest value received.
  func tap<Value: Sendable>(
    _ source: StateStorage<Value, StateUpdate<Value>>
  ) -> @Sendable () -> Value {
    let id = ObjectIdentifier(source)
    let known = found.first { $0.id == id }?.slot
    if let slot = known as! ValueSlot<Value>? { return { slot.value } }
    let slot = ValueSlot(source)
    found.append((id, slot))
    return { slot.value }
  }

  /// A state, and the newest of its updates that has arrived.
  protocol Slot: AnyObject, Sendable {
    var registry: ObserverRegistry { get }

    /// Takes the updates of the state, each of them in the turn of a derived state.
    ///
    /// - Parameters:
    ///   - derived: The derived state.
    ///   - location: The place in the program of its first observer.
    ///   - change: Called when the slot has a newer value.
    ///   - onEnd: Called when the state has ended.
    func follow<Result: Sendable>(
      for derived: StateStorage<Result, StateUpdate<Result>>, at location: CallSite,
      change: @escaping @Sendable (DeliveryTracker?) -> Void,
      onEnd: @escaping @Sendable () -> Void
    ) -> ObservationToken

    /// Releases the value until the next one arrives.
    func release()
  }

  private final class ValueSlot<Value: Sendable>: Slot {
    private let source: StateStorage<Value, StateUpdate<Value>>
    private let state: Locked<(value: Value?, revision: UInt64)>
    var registry: ObserverRegistry { source.registry }

    init(_ source: StateStorage<Value, StateUpdate<Value>>) {
      self.source = source
      let update = source.newest
      state = Locked((update.value, update.revision))
    }

    /// The value, which is present during a computation.
    var value: Value { state.withLock { $0.value! } }

    func follow<Result: Sendable>(
      for derived: StateStorage<Result, StateUpdate<Result>>, at location: CallSite,
      change: @escaping @Sendable (DeliveryTracker?) -> Void,
      onEnd: @escaping @Sendable () -> Void
    ) -> ObservationToken {
      let body = ObserverBody<StateUpdate<Value>>(
        tap: { [self] in take($0, $1, for: derived, change) }, onEnd: onEnd)
      let token = ObservationToken(source.register(ObservationRequest(location), nil, body))
      // What was set before the registration may not have been read.
      take(source.newest, Post(), for: derived, change)
      return token
    }

    private func take<Result: Sendable>(
      _ update: StateUpdate<Value>, _ post: Post,
      for derived: StateStorage<Result, StateUpdate<Result>>,
      _ change: @escaping @Sendable (DeliveryTracker?) -> Void
    ) {
      if derived.begin() {
        if store(update) { change(post.tracker) }
        derived.end()
      } else {
        derived.inTurn(post.kept(withSubject: false)) { [self] in
          if store(update) { change(post.tracker) }
        }
      }
    }

    /// Stores an update, unless it is not newer.
    ///
    /// - Returns: Whether it was stored.
    private func store(_ update: StateUpdate<Value>) -> Bool {
      // The old value is released outside the lock.
      var value: Value? = update.value
      return state.withLock { state in
        if update.revision <= state.revision { return false }
        state.revision = update.revision
        swap(&state.value, &value)
        return true
      }
    }

    func release() {
      var value: Value?
      state.withLock { swap(&$0.value, &value) }
    }
  }
}
