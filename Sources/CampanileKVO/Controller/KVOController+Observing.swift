public import Campanile

/// Observing one key path.
extension KVOController {
  /// Observes a key path where it is changed.
  ///
  /// For objects, owners and handlers that stay in one isolation: plain classes, and classes
  /// isolated to the main actor. Changes that other threads make on the way of a main-actor key
  /// path are told on the main actor.
  ///
  /// - Parameters:
  ///   - object: What is observed.
  ///   - keyPath: Which of its values. It may lead through other objects and optionals, and to
  ///     computed properties.
  ///   - options: What else is wanted besides the new values.
  ///   - policy: What to do if the key path is observed already.
  ///   - isolation: The isolation of the caller.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - handler: What is called, with the owner, the object and the change. What it throws goes to
  ///     the controller's error handler.
  /// - Returns: Whether the observation was made.
  @discardableResult
  public func observe<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: isolation.isMain, file, line), handler)
  }
}

extension KVOController where Owner: Sendable {
  /// Observes a key path that any thread may change, on the thread that changes it.
  ///
  /// If two threads change it at once, one of them tells for both, one change after the other: the
  /// handler never runs on two threads at a time, but for calls before a change, which each thread
  /// makes itself (see ``KVOOptions/prior``).
  ///
  /// - Parameters:
  ///   - object: What is observed.
  ///   - keyPath: Which of its values.
  ///   - options: What else is wanted besides the new values.
  ///   - policy: What to do if the key path is observed already.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - handler: What is called.
  /// - Returns: Whether the observation was made.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    observe(
      object, keyPath, options: options, policy: policy, on: .immediate, file: file, line: line,
      handler)
  }

  /// Observes a key path that any thread may change, with a handler elsewhere.
  ///
  /// The values are those at the time of the change. When the handler's turn comes, the owner, the
  /// object and the observation must still live.
  ///
  /// - Parameters:
  ///   - object: What is observed.
  ///   - keyPath: Which of its values.
  ///   - options: What else is wanted besides the new values.
  ///   - policy: What to do if the key path is observed already.
  ///   - delivery: Where the handler runs.
  ///   - buffering: How many changes wait for a handler that is behind; not for immediate delivery.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - handler: What is called.
  /// - Returns: Whether the observation was made.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: Delivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), on: delivery,
      buffering, handler)
  }

  /// Observes a key path that any thread may change, with a handler on the main actor.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @MainActor @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), on: delivery,
      buffering, handler)
  }

  /// Observes a main-actor key path, with a handler elsewhere.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: true, file, line), on: delivery,
      buffering, handler)
  }

  /// Observes a main-actor key path, with a handler on the main actor: inline if nothing waits
  /// there.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: MainDelivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @MainActor @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: true, file, line), on: delivery,
      buffering, handler)
  }
}

extension Optional<any Actor> {
  /// Whether it is the isolation of the main actor.
  var isMain: Bool { self === MainActor.shared }
}
