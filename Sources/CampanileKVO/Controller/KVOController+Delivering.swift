public import Campanile

/// Objects that any thread may change, observed at another place.
extension KVOController where Owner: Sendable {
  /// Observes a key path of an object that any thread may change, and calls the observer elsewhere.
  ///
  /// However late the observer runs, it receives the values of the change. No call begins once the
  /// observation has ended.
  ///
  /// - Parameters:
  ///   - object: The observed object.
  ///   - keyPath: The observed value.
  ///   - options: What to report in addition to the new values.
  ///   - policy: What to do if the controller observes the key path already.
  ///   - delivery: Where the observer runs.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the owner, the object and the change, unless one of the two has died.
  /// - Returns: The registration, and whether it is new.
  @discardableResult
  public func observe<Object: SharedObservable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOChange<Value>.SharedOptions = .init(), policy: Policy = .ignore,
    on delivery: Delivery, file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    let request = KVORequest(keyPath, options.options, isForAnyThread: true, file, line)
    return addElsewhere(object, request, policy, reading: { { $0[keyPath: keyPath] } }) {
      relay, owner, object in
      relay.observe(owner: owner, on: delivery, file: file, line: line) { [onError] owner, change in
        guard let object = object.object else { return }
        try Self.call(onError, KVOChange<Any>.self, file, line) {
          try observer(owner, object, change)
        }
      }
    }
  }

  /// Observes a key path of an object that any thread may change, and calls the observer on the main
  /// actor.
  ///
  /// However late the observer runs, it receives the values of the change. No call begins once the
  /// observation has ended. Parameters and result are those of the form for any other delivery.
  @discardableResult
  public func observe<Object: SharedObservable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOChange<Value>.SharedOptions = .init(), policy: Policy = .ignore,
    on delivery: MainDelivery, file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    let request = KVORequest(keyPath, options.options, isForAnyThread: true, file, line)
    return addElsewhere(object, request, policy, reading: { { $0[keyPath: keyPath] } }) {
      relay, owner, object in
      relay.observe(owner: owner, on: delivery, file: file, line: line) { [onError] owner, change in
        guard let object = object.object else { return }
        try Self.call(onError, KVOChange<Any>.self, file, line) {
          try observer(owner, object, change)
        }
      }
    }
  }

  /// Makes an observation that sends its changes to a place, if the policy allows it.
  ///
  /// - Parameter register: Registers the observer at the given source of the changes.
  private func addElsewhere<Object: SharedObservable, Value: Sendable>(
    _ object: Object, _ request: KVORequest, _ policy: Policy,
    reading makeRead: () -> (Object) -> Value,
    _ register: (Broadcaster<KVOChange<Value>>, Owner, OwnerReference<Object>) -> Registration
  ) -> KVOResult {
    let relay = Broadcaster<KVOChange<Value>>()
    let end = owner.map { register(relay, $0, OwnerReference(object)) }
    let result = addObserver(object, request, policy, reading: makeRead, onEnd: { end?.cancel() }) {
      gate, _, kept in
      { change in
        // Neither the owner nor the object is loaded here, so this thread does not release them.
        try gate.call(change) { relay.send($0) }
        withExtendedLifetime(kept) {}
      }
    }
    // An observation that was not begun does not end.
    if result.outcome == .alreadyObserved || result.outcome == .refused { end?.cancel() }
    return result
  }
}
