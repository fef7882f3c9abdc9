public import Campanile

/// Observing several key paths of several types and of one object in one call.
///
/// Each path is an observation of its own; the change says which one it is about.
extension KVOController {
  /// Observes key paths of several types where they are changed.
  ///
  /// An empty list of key paths is a precondition failure.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult @_disfavoredOverload
  public func observe<Object: AnyObject>(
    _ object: Object, _ keyPaths: [PartialKeyPath<Object>], options: KVOOptions<Any> = [],
    policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping (Owner, Object, KVOChange<Any>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: isolation.isMain, file, line),
        handler)
    }
  }
}

extension KVOController where Owner: Sendable {
  /// Observes key paths of several types that any thread may change, with a handler elsewhere, or on
  /// the thread that changes them.
  ///
  /// ```swift
  /// kvo.observe(counter, \.count, \.name, on: .queue(queue)) { store, counter, change in … }
  /// ```
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
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<any Sendable>) throws -> Void
  ) -> [KVOResult] {
    let request = SharedRequest(object, options, policy, isOnMain: false, file, line)
    let add = { self.add($0, on: delivery, buffering, handler) }
    var results = [add(request.of(first)), add(request.of(second))]
    for other in repeat each others { results.append(add(request.of(other))) }
    return results
  }

  /// Observes key paths of several types that any thread may change, with a handler on the main actor.
  ///
  /// - Returns: What became of each, in the order of the key paths.
  @discardableResult
  public func observe<
    Object: AnyObject & Sendable, First: Sendable, Second: Sendable, each Other: Sendable
  >(
    _ object: Object, _ first: any KeyPath<Object, First> & Sendable,
    _ second: any KeyPath<Object, Second> & Sendable,
    _ others: repeat any KeyPath<Object, each Other> & Sendable,
    options: KVOOptions<any Sendable> = [], policy: KVOPolicy = .ignore, on delivery: MainDelivery,
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler:
      @escaping @MainActor @Sendable (Owner, Object, KVOChange<any Sendable>) throws -> Void
  ) -> [KVOResult] {
    let request = SharedRequest(object, options, policy, isOnMain: false, file, line)
    let add = { self.add($0, on: delivery, buffering, handler) }
    var results = [add(request.of(first)), add(request.of(second))]
    for other in repeat each others { results.append(add(request.of(other))) }
    return results
  }

  /// Observes main-actor key paths of several types, with a handler elsewhere.
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
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<any Sendable>) throws -> Void
  ) -> [KVOResult] {
    let request = SharedRequest(object, options, policy, isOnMain: true, file, line)
    let add = { self.add($0, on: delivery, buffering, handler) }
    var results = [add(request.of(first)), add(request.of(second))]
    for other in repeat each others { results.append(add(request.of(other))) }
    return results
  }

  /// Observes main-actor key paths of several types, with a handler on the main actor: inline if
  /// nothing waits there.
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
    buffering: Buffering = .unbounded, file: StaticString = #fileID, line: UInt = #line,
    _ handler:
      @escaping @MainActor @Sendable (Owner, Object, KVOChange<any Sendable>) throws -> Void
  ) -> [KVOResult] {
    let request = SharedRequest(object, options, policy, isOnMain: true, file, line)
    let add = { self.add($0, on: delivery, buffering, handler) }
    var results = [add(request.of(first)), add(request.of(second))]
    for other in repeat each others { results.append(add(request.of(other))) }
    return results
  }
}

/// What a call to `observe` asks for each of its key paths, of whatever types.
struct SharedRequest<Object: AnyObject> {
  private let object: Object
  private let options: KVOOptions<any Sendable>
  private let policy: KVOPolicy
  private let isOnMain: Bool
  private let file: StaticString
  private let line: UInt

  init(
    _ object: Object, _ options: KVOOptions<any Sendable>, _ policy: KVOPolicy, isOnMain: Bool,
    _ file: StaticString, _ line: UInt
  ) {
    self.object = object
    self.options = options
    self.policy = policy
    self.isOnMain = isOnMain
    self.file = file
    self.line = line
  }

  func of<Value: Sendable>(
    _ keyPath: KeyPath<Object, Value>
  ) -> KVORequest<Object, any Sendable> {
    KVORequest(object, erasing: keyPath, options, policy, isOnMain: isOnMain, file, line)
  }
}
