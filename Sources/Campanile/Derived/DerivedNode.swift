/// A derived state that is observed: its taps, and its observers.
///
/// The observers retain the node, and the node its taps, so it ends with its last observer. The lists
/// of the tapped states retain the storage, which the taps set, and the closure, but not the node. The
/// observers end with these states.
private final class DerivedNode<Value: Sendable>: Sendable {
  let storage: StateStorage<Value, StateUpdate<Value>>
  private let tokens: [ObservationToken]

  init(_ state: some StateBase<Value>, _ location: CallSite) {
    let taps = Taps(at: location)
    let compute = state.tap(taps)
    let storage = StateStorage<Value, StateUpdate<Value>>(
      compute(), ObserverRegistry(upstream: state.registries))
    self.storage = storage
    tokens = taps.open(
      onChange: { post in storage.set(compute(), as: post) }, onEnd: { storage.finish() })
  }
}

/// Finds the node of a derived state while it is observed.
final class NodeReference<Value: Sendable>: Sendable {
  private struct Found {
    weak var node: DerivedNode<Value>?
  }

  private let found = Locked(Found())

  /// Registers an observer at the node, which is made for the first observer.
  func follow(
    _ state: some StateBase<Value>, _ request: consuming ObservationRequest,
    _ following: Following<Value>, _ body: consuming ObserverBody<StateUpdate<Value>>
  ) -> Registration {
    let node = node(of: state, request.location)
    return node.storage.register(request, following, body.keeping(node))
  }

  private func node(of state: some StateBase<Value>, _ location: CallSite) -> DerivedNode<Value> {
    if let node = found.withLock({ $0.node }) { return node }
    // Made without the lock: the state's closure computes the first value.
    let new = DerivedNode(state, location)
    return found.withLock { found in
      if let other = found.node { return other }
      found.node = new
      return new
    }
  }
}
