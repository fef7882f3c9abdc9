import Synchronization

/// What is often written by hand: arrays of observers in a dictionary, under a mutex.
///
/// It is called with a copy of the array, outside the lock, as it must be if observers may call
/// back.
final class MutexDictionary<Key: Hashable & Sendable, Value>: Sendable {
  private struct Observer: Sendable {
    let id: Int
    let call: @Sendable (Value) -> Void
  }

  private struct State: Sendable {
    var observers: [Key: [Observer]] = [:]
    var lastID = 0
  }

  private let state = Mutex(State())

  func observe(_ key: Key, _ observer: @escaping @Sendable (Value) -> Void) -> Int {
    state.withLock { state in
      state.lastID += 1
      state.observers[key, default: []].append(Observer(id: state.lastID, call: observer))
      return state.lastID
    }
  }

  func remove(_ id: Int, _ key: Key) {
    let removed = state.withLock { state -> Observer? in
      guard let index = state.observers[key]?.firstIndex(where: { $0.id == id }) else { return nil }
      let removed = state.observers[key]?.remove(at: index)
      if state.observers[key]?.isEmpty == true { state.observers[key] = nil }
      return removed
    }
    withExtendedLifetime(removed) {}
  }

  @inline(never)
  func post(_ value: Value, _ key: Key) {
    let observers = state.withLock { $0.observers[key] }
    guard let observers else { return }
    for observer in observers { observer.call(value) }
  }
}
