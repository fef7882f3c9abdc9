public import Campanile

/// An owner with one method for all changes of whatever it observes.
///
/// ```swift
/// extension Screen: KVOChangeHandler {
///   func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { … }
/// }
///
/// kvo.observe(player, \.title)
/// kvo.observe(mixer, [\.level, \.isMuted])
/// ```
public protocol KVOChangeHandler: AnyObject {
  /// Called for each change of a key path that was observed without a handler of its own.
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) throws
}

extension KVOController where Owner: KVOChangeHandler {
  /// Observes a key path where it is changed, with the owner's one method for all changes.
  ///
  /// An owner on the main actor conforms to ``KVOChangeHandler`` there.
  @discardableResult
  public func observe<Object: AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: isolation.isMain, file, line)
    ) { owner, object, change in try owner.handleChange(of: object, change.map { $0 }) }
  }

  /// Observes key paths of one or several types where they are changed, with the owner's one method
  /// for all changes.
  ///
  /// An empty list of key paths is a precondition failure.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<Object: AnyObject>(
    _ object: Object, _ keyPaths: [PartialKeyPath<Object>], options: KVOOptions<Any> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: isolation.isMain, file, line)
      ) { owner, object, change in try owner.handleChange(of: object, change) }
    }
  }

  /// Observes a key path that any thread may change, with the owner's one method for all changes, on
  /// the main actor.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    file: StaticString = #fileID, line: UInt = #line
  ) -> KVOResult {
    handle(KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), on: delivery)
  }

  /// Observes a main-actor key path, with the owner's one method for all changes, on the main actor:
  /// inline if nothing waits there.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: MainDelivery, file: StaticString = #fileID,
    line: UInt = #line
  ) -> KVOResult {
    handle(KVORequest(object, keyPath, options, policy, isOnMain: true, file, line), on: delivery)
  }

  /// Observes key paths of several types that any thread may change, with the owner's one method for
  /// all changes, on the main actor.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<
    Object: AnyObject & Sendable, First: Sendable, Second: Sendable, each Other: Sendable
  >(
    _ object: Object, _ first: any KeyPath<Object, First> & Sendable,
    _ second: any KeyPath<Object, Second> & Sendable,
    _ others: repeat any KeyPath<Object, each Other> & Sendable,
    options: KVOOptions<any Sendable> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    file: StaticString = #fileID, line: UInt = #line
  ) -> [KVOResult] {
    let request = SharedRequest(object, options, policy, isOnMain: false, file, line)
    let add = { (one: KVORequest<Object, any Sendable>) in self.handle(one, on: delivery) }
    var results = [add(request.of(first)), add(request.of(second))]
    for other in repeat each others { results.append(add(request.of(other))) }
    return results
  }

  /// Observes main-actor key paths of several types, with the owner's one method for all changes, on the
  /// main actor: inline if nothing waits there.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<
    Object: AnyObject & Sendable, First: Sendable, Second: Sendable, each Other: Sendable
  >(
    _ object: Object, _ first: KeyPath<Object, First>,
    _ second: KeyPath<Object, Second>,
    _ others: repeat KeyPath<Object, each Other>,
    options: KVOOptions<any Sendable> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    file: StaticString = #fileID, line: UInt = #line
  ) -> [KVOResult] {
    let request = SharedRequest(object, options, policy, isOnMain: true, file, line)
    let add = { (one: KVORequest<Object, any Sendable>) in self.handle(one, on: delivery) }
    var results = [add(request.of(first)), add(request.of(second))]
    for other in repeat each others { results.append(add(request.of(other))) }
    return results
  }

  /// Registers the owner's one method on the main actor.
  @MainActor
  fileprivate func handle<Object: AnyObject & Sendable, Value: Sendable>(
    _ request: KVORequest<Object, Value>, on delivery: MainDelivery
  ) -> KVOResult {
    addConfined(request, on: delivery.delivery) { owner, object, change in
      try owner.handleChange(of: object, change.map { $0 })
    }
  }
}

extension KVOController where Owner: KVOChangeHandler & Sendable {
  /// Observes a key path that any thread may change, on the thread that changes it, with the owner's
  /// one method for all changes.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, file: StaticString = #fileID,
    line: UInt = #line
  ) -> KVOResult {
    observe(
      object, keyPath, options: options, policy: policy, on: .immediate, file: file, line: line)
  }

  /// Observes a key path that any thread may change, with the owner's one method for all changes,
  /// which runs elsewhere.
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore, on delivery: Delivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line
  ) -> KVOResult {
    observe(
      object, keyPath, options: options, policy: policy, on: delivery, buffering: buffering,
      file: file, line: line
    ) { owner, object, change in try owner.handleChange(of: object, change.map { $0 }) }
  }

  /// Observes a main-actor key path, with the owner's one method for all changes, which runs
  /// elsewhere.
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line
  ) -> KVOResult {
    observe(
      object, keyPath, options: options, policy: policy, on: delivery, buffering: buffering,
      file: file, line: line
    ) { owner, object, change in try owner.handleChange(of: object, change.map { $0 }) }
  }

  /// Observes key paths of several types that any thread may change, with the owner's one method for
  /// all changes, which runs elsewhere, or on the thread that changes them.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<
    Object: AnyObject & Sendable, First: Sendable, Second: Sendable, each Other: Sendable
  >(
    _ object: Object, _ first: any KeyPath<Object, First> & Sendable,
    _ second: any KeyPath<Object, Second> & Sendable,
    _ others: repeat any KeyPath<Object, each Other> & Sendable,
    options: KVOOptions<any Sendable> = [], policy: KVOPolicy = .ignore,
    on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line
  ) -> [KVOResult] {
    observe(
      object, first, second, repeat each others, options: options, policy: policy, on: delivery,
      buffering: buffering, file: file, line: line
    ) { owner, object, change in try owner.handleChange(of: object, change.map { $0 }) }
  }

  /// Observes main-actor key paths of several types, with the owner's one method for all changes, which
  /// runs elsewhere.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @MainActor @discardableResult
  public func observe<
    Object: AnyObject & Sendable, First: Sendable, Second: Sendable, each Other: Sendable
  >(
    _ object: Object, _ first: KeyPath<Object, First>,
    _ second: KeyPath<Object, Second>,
    _ others: repeat KeyPath<Object, each Other>,
    options: KVOOptions<any Sendable> = [], policy: KVOPolicy = .ignore, on delivery: Delivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line
  ) -> [KVOResult] {
    observe(
      object, first, second, repeat each others, options: options, policy: policy, on: delivery,
      buffering: buffering, file: file, line: line
    ) { owner, object, change in try owner.handleChange(of: object, change.map { $0 }) }
  }
}
