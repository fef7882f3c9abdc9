public import Campanile

/// Observing several key paths of one object in one call, with a method of the owner.
///
/// An empty list of key paths is a precondition failure.
extension KVOController {
  /// Observes key paths of one type where they are changed, with a method of the owner.
  ///
  /// ```swift
  /// kvo.observe(player, [\.level, \.balance], calling: Panel.levelChanged)
  /// ```
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject, Value>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, isolation: isolation, file: file,
      line: line
    ) { try method($0)($1, $2) }
  }

  /// Observes key paths of one type on the main actor, with a method of the owner that is isolated to
  /// it.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<Object: AnyObject, Value>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> @MainActor (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map {
      observe(
        object, $0, options: options, policy: policy, file: file, line: line, calling: method)
    }
  }

  /// Observes key paths of several types where they are changed, with a method of the owner.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult @_disfavoredOverload
  public func observe<Object: AnyObject>(
    _ object: Object, _ keyPaths: [PartialKeyPath<Object>], options: KVOOptions<Any> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> (Object, KVOChange<Any>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, isolation: isolation, file: file,
      line: line
    ) { try method($0)($1, $2) }
  }

  /// Observes key paths of several types on the main actor, with a method of the owner that is
  /// isolated to it.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult @_disfavoredOverload
  public func observe<Object: AnyObject>(
    _ object: Object, _ keyPaths: [PartialKeyPath<Object>], options: KVOOptions<Any> = [],
    policy: KVOPolicy = .ignore, file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> @MainActor (Object, KVOChange<Any>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: true, file, line)
      ) { try method($0)($1, $2) }
    }
  }
}

extension KVOController where Owner: Sendable {
  /// Observes key paths of one type that any thread may change, on the thread that changes them, with
  /// a method of the owner.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, file: StaticString = #fileID,
    line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: .immediate, file: file, line: line,
      calling: method)
  }

  /// Observes key paths of one type that any thread may change, with a method of the owner that runs
  /// elsewhere.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: Delivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: delivery, buffering: buffering,
      file: file, line: line
    ) { try method($0)($1, $2) }
  }

  /// Observes key paths of one type that any thread may change, with a method of the owner on the
  /// main actor.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @MainActor @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: delivery, buffering: buffering,
      file: file, line: line
    ) { try method($0)($1, $2) }
  }

  /// Observes main-actor key paths of one type, with a method of the owner that runs elsewhere.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: delivery, buffering: buffering,
      file: file, line: line
    ) { try method($0)($1, $2) }
  }

  /// Observes main-actor key paths of one type, with a method of the owner on the main actor.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: MainDelivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @MainActor @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: delivery, buffering: buffering,
      file: file, line: line
    ) { try method($0)($1, $2) }
  }
}
