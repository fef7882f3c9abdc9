/// A derived state that is observed: its taps, and its observers.
///
/// The observers retain the node, and the node its taps, so it ends with its last observer. The lists
/// of the tapped states retain the storage, which the taps set, and the closure, but not the node. The
/// observers end with these states.
final class DerivedNode<Value: Sendable>: Sendable {
  let storage: StateStorage<Value, StateUpdate<Value>>
  private let tokens: [ObservationToken]

  init(_ state: some StateBase<Value>, _ location: CallSite) {
    let taps = Taps(at: location)
    let compute = state.tap(taps)
    let storage = StateStorage<Value, StateUpdate<Value>>(
      compute(), ObserverRegistry(upstream: state.registries))
    self.storage = storage
    tokens = taps.open(
      onChange: { post in storage.set(compute(), trackedBy: post.tracker) },
      onEnd: { storage.finish() })
  }
}
