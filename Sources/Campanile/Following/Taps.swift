/// The taps of a derived state: one registration at each state that it is derived from, however many
/// ways lead there.
///
/// One thread at a time takes the updates, in the order of each tap, and has the value computed.
final class Taps: Sendable {
  private struct State {
    /// By the identity of the tapped state.
    var slots: [(id: ObjectIdentifier, slot: any Slot)] = []
    var tokens: [ObservationToken] = []
    var endedCount = 0
    var onChange: @Sendable (Post) -> Void = { _ in }
    var onEnd: @Sendable () -> Void = {}
  }

  private let state = Locked(State())
  private let teller = Teller()
  /// Where the taps are registered; `nil` if the states are only read.
  private let location: CallSite?

  /// Creates closed taps, at which updates wait until they are opened.
  init(at location: CallSite) {
    self.location = location
    _ = teller.begin()
  }

  /// Creates no taps: each state is read once, instead of being tapped.
  init() { location = nil }

  /// Taps a state, or reads it.
  ///
  /// - Returns: A closure that returns the newest value received.
  func tap<Value: Sendable>(
    _ storage: StateStorage<Value, StateUpdate<Value>>
  ) -> @Sendable () -> Value {
    let id = ObjectIdentifier(storage)
    let known = state.withLock { state in state.slots.first { $0.id == id }?.slot }
    if let slot = known as! ValueSlot<Value>? { return { slot.value } }
    let slot = ValueSlot(storage.newest)
    let token = location.map { location in
      let body = ObserverBody<StateUpdate<Value>>(
        tap: { [self] update, post in take(update, for: slot, post) },
        onEnd: { [self] in
          teller.add { self.noteEnd() }
          teller.makeCalls()
        })
      return ObservationToken(storage.register(ObservationRequest(location), nil, body))
    }
    // What was set before the tap is known; what arrives waits.
    if token != nil { _ = slot.take(storage.newest) }
    state.withLock { state in
      state.slots.append((id, slot))
      if let token { state.tokens.append(token) }
    }
    return { slot.value }
  }

  /// Opens the taps: takes the updates that wait, and lets later ones through.
  ///
  /// - Returns: The tokens of the taps.
  func open(
    onChange: @escaping @Sendable (Post) -> Void,
    onEnd: @escaping @Sendable () -> Void
  ) -> [ObservationToken] {
    let (tokens, slots) = state.withLock { state in
      (state.onChange, state.onEnd) = (onChange, onEnd)
      defer { state.tokens = [] }
      return (state.tokens, state.slots)
    }
    if slots.count == 1 { slots[0].slot.release() }
    teller.end()
    return tokens
  }

  private func take<Value: Sendable>(
    _ update: StateUpdate<Value>, for slot: ValueSlot<Value>, _ post: Post
  ) {
    if teller.begin() {
      compute(with: update, for: slot, post)
      teller.end()
    } else {
      let post = post.kept(withSubject: false)
      post.tracker?.begin()
      teller.add { [self] in
        post.context.restore { compute(with: update, for: slot, post) }
        post.tracker?.end()
      }
      teller.makeCalls()
    }
  }

  private func compute<Value: Sendable>(
    with update: StateUpdate<Value>, for slot: ValueSlot<Value>, _ post: Post
  ) {
    guard slot.take(update) else { return }
    let (onChange, isOnly) = state.withLock { ($0.onChange, $0.slots.count == 1) }
    onChange(post)
    // Nothing else is computed from it, so that it can be changed in place.
    if isOnly { slot.release() }
  }

  private func noteEnd() {
    let onEnd = state.withLock { state in
      state.endedCount += 1
      return state.endedCount == state.slots.count ? state.onEnd : nil
    }
    onEnd?()
  }

  private protocol Slot: AnyObject, Sendable {
    func release()
  }

  /// The newest update of one state.
  private final class ValueSlot<Value: Sendable>: Slot {
    private let state: Locked<(value: Value?, revision: UInt64)>

    init(_ update: StateUpdate<Value>) { state = Locked((update.value, update.revision)) }

    /// The value, which is present during a computation.
    var value: Value { state.withLock { $0.value! } }

    /// Stores an update, unless it is not newer.
    ///
    /// - Returns: Whether it was stored.
    func take(_ update: StateUpdate<Value>) -> Bool {
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
