/// A derived state that is observed: its taps, and its observers.
///
/// The observers retain the node, and the node its taps, so it ends with its last observer. The lists
/// of the tapped states retain the storage, which the taps set, and the closure, but not the node. The
/// observers end with these states.
final class DerivedNode<Value: Sendable>: Sendable {
  let storage: StateStorage<Value, StateUpdate<Value>>
  private let tokens: [ObservationToken]

  init(_ state: some StateBase<Value>, _ location: CallSite) {
    let taps = Taps()
    let compute = state.tap(taps)
    let slots = taps.slots
    // The states report the failures of the observers, too.
    let registry = ObserverRegistry(upstream: slots.map(\.registry))
    let storage = StateStorage<Value, StateUpdate<Value>>(compute(), registry)
    self.storage = storage
    // Nothing else is computed from the value of a single state, so that it can be changed in place.
    let only = slots.count == 1 ? slots[0] : nil
    only?.release()
    let openCount = Locked(slots.count)
    tokens = slots.map { slot in
      slot.follow(for: storage, at: location) { tracker in
        storage.store(compute(), trackedBy: tracker)
        only?.release()
      } onEnd: {
        let isLast = openCount.withLock { count in
          count -= 1
          return count == 0
        }
        if isLast { storage.finish() }
      }
    }
  }
}
