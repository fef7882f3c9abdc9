public import Campanile
public import Observation

/// Observing without a controller.
extension Observable where Self: AnyObject {
  /// Observes a key path where it is changed, until the token is released.
  ///
  /// As the plain form of ``KVOController``, for objects and handlers that stay in one isolation.
  ///
  /// - Parameters:
  ///   - keyPath: What is observed.
  ///   - options: What else is wanted besides the new values.
  ///   - isolation: The isolation of the caller.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - handler: What is called, with the object and the change.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, options: KVOOptions<Value> = [],
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ handler: @escaping (Self, KVOChange<Value>) throws -> Void
  ) -> KVOToken {
    let request = KVORequest(
      self, keyPath, options, .append, isOnMain: isolation.isMain, file, line)
    let upstream = Upstream()
    let observation = KeyPathObservation(
      request, owner: nil, upstream: upstream, onError: nil)
    let object = ObjectReference(self, isRetained: false)
    let registration = observation.changes.addConfined(
      owner: nil, isOnce: options.isOnce, file: file, line: line
    ) { change in
      guard let object = object.object else { throw SourceRegistry.endOfObservation }
      try handler(object, change)
      withExtendedLifetime(upstream) {}
    }
    observation.start(for: registration)
    return KVOToken(registration)
  }
}

extension Observable where Self: AnyObject & Sendable {
  /// Observes a key path that any thread may change, on the thread that changes it, until the token
  /// is released.
  public func observe<Value: Sendable>(
    _ keyPath: any KeyPath<Self, Value> & Sendable, options: KVOOptions<Value> = [],
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    observe(keyPath, options: options, on: .immediate, file: file, line: line, handler)
  }

  /// Observes a key path that any thread may change, with a handler elsewhere, until the token is
  /// released.
  public func observe<Value: Sendable>(
    _ keyPath: any KeyPath<Self, Value> & Sendable, options: KVOOptions<Value> = [],
    on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    let request = KVORequest(self, keyPath, options, .append, isOnMain: false, file, line)
    return observe(request) { source, object, upstream in
      source.observe(
        on: delivery, buffering: buffering, options.isOnce ? .once : [], file: file, line: line
      ) { change in
        guard let object = object.object else { throw SourceRegistry.endOfObservation }
        try handler(object, change)
        withExtendedLifetime(upstream) {}
      }
    }
  }

  /// Observes a key path that any thread may change, with a handler on the main actor, until the
  /// token is released.
  public func observe<Value: Sendable>(
    _ keyPath: any KeyPath<Self, Value> & Sendable, options: KVOOptions<Value> = [],
    on delivery: MainDelivery, buffering: Buffering = .unbounded, file: StaticString = #fileID,
    line: UInt = #line,
    _ handler: @escaping @MainActor @Sendable (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    let request = KVORequest(self, keyPath, options, .append, isOnMain: false, file, line)
    return observe(request) { source, object, upstream in
      source.observe(
        on: delivery, buffering: buffering, options.isOnce ? .once : [], file: file, line: line
      ) { change in
        guard let object = object.object else { throw SourceRegistry.endOfObservation }
        try handler(object, change)
        withExtendedLifetime(upstream) {}
      }
    }
  }

  private func observe<Value: Sendable>(
    _ request: KVORequest<Self, Value>,
    _ register: (Signal<KVOChange<Value>>, ObjectReference<Self>, Upstream) -> ObservationToken
  ) -> ObservationToken {
    let upstream = Upstream()
    let observation = KeyPathObservation(
      request, owner: nil, upstream: upstream, onError: nil)
    let token = register(
      Signal(base: ChangeSource(list: observation.changes)),
      ObjectReference(self, isRetained: false), upstream)
    observation.start(for: token.registration)
    return token
  }

  /// The changes of a key path that any thread may change, to be observed in every way there is.
  ///
  /// - Parameters:
  ///   - keyPath: What is observed.
  ///   - options: What is wanted besides the new values; `.once` is asked of an observation.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  public func changes<Value: Sendable>(
    of keyPath: any KeyPath<Self, Value> & Sendable, options: KVOOptions<Value> = [],
    file: StaticString = #fileID, line: UInt = #line
  ) -> KeyPathChanges<Value> {
    KeyPathChanges(KVORequest(self, keyPath, options, .append, isOnMain: false, file, line))
  }

  /// The changes of a main-actor key path, to be observed in every way there is.
  ///
  /// - Parameters:
  ///   - keyPath: What is observed.
  ///   - options: What is wanted besides the new values; `.once` is asked of an observation.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  @MainActor
  public func changes<Value: Sendable>(
    of keyPath: KeyPath<Self, Value>, options: KVOOptions<Value> = [],
    file: StaticString = #fileID, line: UInt = #line
  ) -> KeyPathChanges<Value> {
    KeyPathChanges(KVORequest(self, keyPath, options, .append, isOnMain: true, file, line))
  }
}
