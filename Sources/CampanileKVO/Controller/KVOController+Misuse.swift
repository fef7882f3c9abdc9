public import Campanile

/// Forms that the compiler prefers to the plain ones where those would be a mistake: the object may
/// be changed by any thread, and the owner or the handler stays in one isolation.
///
/// They are deprecated in order to be reported, from their first day on; what they do is what the
/// plain forms do.
extension KVOController {
  @_documentation(visibility: internal)
  @available(
    *, deprecated,
    message: "Any thread may change this object: its handler needs an owner that is Sendable"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), handler)
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated,
    message: "Any thread may change this object: its handler needs an owner that is Sendable"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), handler)
    }
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated,
    message: "Any thread may change this object: its handler needs an owner that is Sendable"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line)
    ) { try method($0)($1, $2) }
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated,
    message: "Any thread may change this object: its handler needs an owner that is Sendable"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    calling method: @escaping (Owner) -> (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: false, file, line)
      ) { try method($0)($1, $2) }
    }
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated,
    message: "Any thread may change this object: name its key paths without brackets"
  )
  @discardableResult @_disfavoredOverload
  public func observe<Object: AnyObject & Sendable>(
    _ object: Object, _ keyPaths: [any PartialKeyPath<Object> & Sendable],
    options: KVOOptions<Any> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    _ handler: @escaping @Sendable (Owner, Object, KVOChange<Any>) throws -> Void
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: false, file, line), handler)
    }
  }
}

extension KVOController where Owner: KVOChangeHandler {
  @_documentation(visibility: internal)
  @available(
    *, deprecated,
    message:
      "Any thread may change this object: its handler needs 'on: .main', or an owner that is Sendable"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line)
    ) { owner, object, change in try owner.handleChange(of: object, change.map { $0 }) }
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated,
    message: "Any thread may change this object: name its key paths without brackets"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable>(
    _ object: Object, _ keyPaths: [any PartialKeyPath<Object> & Sendable],
    options: KVOOptions<Any> = [], policy: KVOPolicy = .ignore,
    file: StaticString = #fileID, line: UInt = #line
  ) -> [KVOResult] {
    checkNotEmpty(keyPaths)
    return keyPaths.map { keyPath in
      addConfined(
        KVORequest(object, keyPath, options, policy, isOnMain: false, file, line)
      ) { owner, object, change in try owner.handleChange(of: object, change) }
    }
  }
}

/// The compiler takes a method on the main actor for one that runs anywhere. Where it is named to run
/// elsewhere, these are preferred, and run it on the main actor. `mistake` is what tells them from the
/// others, whose types are the same.
extension KVOController where Owner: Sendable {
  @_documentation(visibility: internal)
  @available(
    *, deprecated, message: "This method is on the main actor: its delivery is 'on: .main'"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line, mistake: Void = (),
    calling method:
      @escaping @Sendable (Owner) -> @MainActor (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    observe(
      object, keyPath, options: options, policy: policy, on: .main, buffering: buffering,
      file: file,
      line: line
    ) { try method($0)($1, $2) }
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated, message: "This method is on the main actor: its delivery is 'on: .main'"
  )
  @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [any KeyPath<Object, Value> & Sendable],
    options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line, mistake: Void = (),
    calling method:
      @escaping @Sendable (Owner) -> @MainActor (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: .main, buffering: buffering,
      file: file,
      line: line
    ) { try method($0)($1, $2) }
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated, message: "This method is on the main actor: its delivery is 'on: .main'"
  )
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line, mistake: Void = (),
    calling method:
      @escaping @Sendable (Owner) -> @MainActor (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    observe(
      object, keyPath, options: options, policy: policy, on: .main, buffering: buffering,
      file: file,
      line: line
    ) { try method($0)($1, $2) }
  }

  @_documentation(visibility: internal)
  @available(
    *, deprecated, message: "This method is on the main actor: its delivery is 'on: .main'"
  )
  @MainActor @discardableResult
  public func observe<Object: AnyObject & Sendable, Value: Sendable>(
    _ object: Object, _ keyPaths: [KeyPath<Object, Value>], options: KVOOptions<Value> = [],
    policy: KVOPolicy = .ignore, on delivery: Delivery, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line, mistake: Void = (),
    calling method:
      @escaping @Sendable (Owner) -> @MainActor (Object, KVOChange<Value>) throws -> Void
  ) -> [KVOResult] {
    observe(
      object, keyPaths, options: options, policy: policy, on: .main, buffering: buffering,
      file: file,
      line: line
    ) { try method($0)($1, $2) }
  }
}
