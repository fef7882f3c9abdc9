public import Observation

/// An owner with one method for all changes that it observes.
///
/// ```swift
/// extension Screen: KVOChangeHandler {
///   func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { … }
/// }
///
/// kvo.observe(player, \.title)
/// kvo.observe(mixer, \.level)
/// ```
///
/// An owner on the main actor conforms there: `extension Screen: @MainActor KVOChangeHandler`.
public protocol KVOChangeHandler: AnyObject {
  /// Called for each change of a key path that was observed without a closure.
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) throws
}

extension KVOController where Owner: KVOChangeHandler {
  /// Observes a key path, and calls the owner's ``KVOChangeHandler/handleChange(of:_:)`` where the
  /// change is made, as ``observe(_:_:options:policy:isolation:file:line:_:)`` calls a closure.
  @discardableResult
  public func observe<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>,
    options: KVOChange<Value>.Options = .init(),
    policy: Policy = .ignore, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line
  ) -> KVOResult {
    add(
      object, KVORequest(keyPath, options, isOnMain: isolation.isMain, file, line), policy,
      reading: { { $0[keyPath: keyPath] } }
    ) { owner, object, change in try owner.handleChange(of: object, change.asAny) }
  }
}

extension KVOController where Owner: KVOChangeHandler & Sendable {
  /// Observes a key path of an object that any thread may change, and calls the owner's
  /// ``KVOChangeHandler/handleChange(of:_:)`` on the thread that makes the change, as
  /// ``observe(_:_:options:policy:file:line:_:)`` calls a closure.
  @discardableResult
  public func observe<Object: SharedObservable, Value: Sendable>(
    _ object: Object, _ keyPath: any KeyPath<Object, Value> & Sendable,
    options: KVOChange<Value>.SharedOptions = .init(), policy: Policy = .ignore,
    file: StaticString = #fileID, line: UInt = #line
  ) -> KVOResult {
    add(
      object, KVORequest(keyPath, options.options, isForAnyThread: true, file, line), policy,
      reading: { { $0[keyPath: keyPath] } }
    ) { owner, object, change in try owner.handleChange(of: object, change.asAny) }
  }
}
