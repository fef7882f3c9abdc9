public import Observation

/// Objects that stay in one isolation: plain classes, and classes isolated to an actor.
extension KVOController {
  /// Observes a key path, and calls the observer where the change is made.
  ///
  /// - Parameters:
  ///   - object: The observed object.
  ///   - keyPath: The observed value.
  ///   - options: What to report in addition to the new values.
  ///   - policy: What to do if the controller observes the key path already.
  ///   - isolation: The isolation of the caller, where the observer runs. Changes that other
  ///     threads make on a main-actor key path are reported on the main actor.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the owner, the object and the change, before the setter returns, and
  ///     after the observers that registered earlier. Errors that it throws go to the controller's
  ///     error handler.
  /// - Returns: The registration, which you need not keep, and whether it is new.
  @discardableResult
  public func observe<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>,
    options: KVOChange<Value>.Options = .init(),
    policy: Policy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      object, KVORequest(keyPath, options, isOnMain: isolation.isMain, file, line), policy,
      reading: { { $0[keyPath: keyPath] } }, observer)
  }

  /// Observes the properties that a closure reads, and calls the observer where one of them is
  /// changed.
  ///
  /// ```swift
  /// kvo.observe(player, of: { ($0.level, $0.title) }) { screen, player, change in … }
  /// ```
  ///
  /// Each call adds an observation. The closure runs in the isolation of the caller, and again
  /// after each change of a property that it has read. Otherwise this method is like
  /// ``observe(_:_:options:policy:isolation:file:line:_:)``.
  @discardableResult
  public func observe<Object: Observable & AnyObject, Value>(
    _ object: Object, of value: @escaping (Object) -> Value,
    options: KVOChange<Value>.Options = .init(), isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    let request = KVORequest(
      \Object.self, options, isOnMain: isolation.isMain, isShared: false, file, line)
    return add(object, request, .append, reading: { value }, observer)
  }
}

/// Objects that any thread may change.
extension KVOController where Owner: Sendable {
  /// Observes a key path of an object that any thread may change, and calls the observer on the
  /// thread that makes the change.
  ///
  /// The observer never runs on two threads at a time: if two threads change the object at once, one
  /// of them calls the observer for both changes, and the other setter may return before that.
  ///
  /// - Parameters:
  ///   - object: The observed object.
  ///   - keyPath: The observed value.
  ///   - options: What to report in addition to the new values.
  ///   - policy: What to do if the controller observes the key path already.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the owner, the object and the change. Errors that it throws go to
  ///     the controller's error handler.
  /// - Returns: The registration, which you need not keep, and whether it is new.
  @discardableResult
  public func observe<Object: SharedObservable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOChange<Value>.SharedOptions = .init(), policy: Policy = .ignore,
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    add(
      object, KVORequest(keyPath, options.options, isForAnyThread: true, file, line), policy,
      reading: { { $0[keyPath: keyPath] } }, observer)
  }

  /// Observes the properties that a closure reads of an object that any thread may change, and
  /// calls the observer on the thread that changes one.
  ///
  /// Each call adds an observation. The closure runs again after each change of a property that it
  /// has read, on the thread that calls the observer. Otherwise this method is like
  /// ``observe(_:_:options:policy:file:line:_:)``.
  @discardableResult
  public func observe<Object: SharedObservable, Value: Sendable>(
    _ object: Object, of value: @escaping @Sendable (Object) -> Value,
    options: KVOChange<Value>.SharedOptions = .init(), file: StaticString = #fileID,
    line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Object, KVOChange<Value>) throws -> Void
  ) -> KVOResult {
    let request = KVORequest(
      \Object.self, options.options, isForAnyThread: true, isShared: false, file, line)
    return add(object, request, .append, reading: { value }, observer)
  }
}
