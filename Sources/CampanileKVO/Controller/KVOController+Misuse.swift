/// Forms that the compiler prefers to the plain ones where those would be a mistake: the object may
/// be changed by any thread, and the owner stays in one isolation.
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
    calling method:
      @escaping @Sendable (Owner) -> @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    addConfined(
      KVORequest(object, keyPath, options, policy, isOnMain: false, file, line)
    ) { try method($0)($1, $2) }
  }
}
