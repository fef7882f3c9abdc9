public import Campanile

/// Observing with a method of the owner.
extension KVOController {
  /// Observes a key path where it is changed, with a method of the owner.
  ///
  /// ```swift
  /// kvo.observe(player, \.title, calling: Screen.titleChanged)
  /// ```
  ///
  /// The owner is not kept.
  @discardableResult
  public func observe<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: isolation.isMain, file, line)
    ) { try method($0)($1, $2) }
  }

  /// Observes a key path on the main actor, with a method of the owner that is isolated to it.
  @MainActor @discardableResult
  public func observe<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> @MainActor (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: true, file, line)
    ) { try method($0)($1, $2) }
  }
}

extension KVOController where Owner: Sendable {
  /// Observes a key path that any thread may change, on the thread that changes it, with a method
  /// of the owner.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    observe(
      object, keyPath, options: options, policy: policy, on: .immediate, file: file, line: line,
      calling: method)
  }

  /// Observes a key path that any thread may change, with a method of the owner that runs
  /// elsewhere.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: Delivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), on: delivery,
      buffering
    ) { try method($0)($1, $2) }
  }

  /// Observes a key path that any thread may change, with a method of the owner on the main actor.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @MainActor @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), on: delivery,
      buffering
    ) { try method($0)($1, $2) }
  }

  /// Observes a main-actor key path, with a method of the owner that runs elsewhere.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: true, file, line), on: delivery,
      buffering
    ) { try method($0)($1, $2) }
  }

  /// Observes a main-actor key path, with a method of the owner on the main actor: inline if nothing
  /// waits there.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: MainDelivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line,
    calling method:
      @escaping @Sendable (Owner) -> @MainActor @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      KVORequest(object, keyPath, options, policy, isOnMain: true, file, line), on: delivery,
      buffering
    ) { try method($0)($1, $2) }
  }
}
