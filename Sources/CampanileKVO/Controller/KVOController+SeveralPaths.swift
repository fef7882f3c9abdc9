public import Campanile

/// Observing several key paths of one type and one object in one call.
///
/// An empty list of key paths is a precondition failure. Each path is an observation of its own;
/// the change says which one it is about.
extension KVOController {
  /// Observes key paths of one type where they are changed.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject, Value>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: isolation.isMain, file, line),
        handler)
    }
  }

  func checkNotEmpty(_ keyPaths: [AnyKeyPath]) {
    precondition(
      !keyPaths.isEmpty, "A controller was asked to observe no key path at all; name at least one")
  }
}

extension KVOController where Owner: Sendable {
  /// Observes key paths of one type that any thread may change, on the thread that changes them.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: .immediate, file: file, line: line,
      handler)
  }

  /// Observes key paths of one type that any thread may change, with a handler elsewhere.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: Delivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      add(
        KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), on: delivery,
        buffering, handler)
    }
  }

  /// Observes key paths of one type that any thread may change, with a handler on the main actor.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @MainActor @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      add(
        KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), on: delivery,
        buffering, handler)
    }
  }

  /// Observes main-actor key paths of one type, with a handler elsewhere.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      add(
        KVORequest(object, keyPath, options, policy, isOnMain: true, file, line), on: delivery,
        buffering, handler)
    }
  }

  /// Observes main-actor key paths of one type, with a handler on the main actor: inline if nothing
  /// waits there.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: MainDelivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @MainActor @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      add(
        KVORequest(object, keyPath, options, policy, isOnMain: true, file, line), on: delivery,
        buffering, handler)
    }
  }
}
