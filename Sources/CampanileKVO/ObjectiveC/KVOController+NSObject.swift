#if canImport(ObjectiveC)
  internal import Campanile
  public import Foundation

  /// Observing Objective-C properties through the system's key-value observing.
  extension KVOController {
    /// Observes a key path of an `NSObject`, and calls the observer where the change is made.
    ///
    /// The properties on the way must be `@objc dynamic`, so that the system reports their changes.
    /// Options, policies, transactions and the end of the observation are the same as for other
    /// objects, but changes of a collection are reported as settings, and the death of the object
    /// is noticed only when the observation is inspected.
    ///
    /// - Parameters:
    ///   - object: The observed object.
    ///   - keyPath: The observed value.
    ///   - options: What to report in addition to the new values.
    ///   - policy: What to do if the key path is observed already.
    ///   - isolation: The isolation of the caller, where the observer runs.
    ///   - file: The caller's file, for descriptions and failures.
    ///   - line: The caller's line.
    ///   - observer: Called with the owner, the object and the change.
    /// - Returns: The registration, and whether it is new.
    @discardableResult
    public func observe<Object: NSObject, Value>(
      _ object: Object, _ keyPath: KeyPath<Object, Value>,
      options: KVOChange<Value>.Options = .init(),
      policy: Policy = .ignore, isolation: isolated (any Actor)? = #isolation,
      file: StaticString = #fileID, line: UInt = #line,
      _ observer: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
    ) -> KVOResult {
      let subject = ObservedProperty.Subject(ObjectIdentifier(object))
      let property = ObservedProperty(keyPath, of: subject)
      let system = object.observe(keyPath, options: [.prior]) { _, change in
        if change.isPrior { property.willChange() } else { property.didChange() }
      }
      let read = { (object: Object) -> Value in
        // The system's getters do not report themselves.
        Scope.current?.collector?.add(property)
        return object[keyPath: keyPath]
      }
      // Each observation has its own property.
      let request = KVORequest(
        keyPath, options, isOnMain: isolation.isMain, isShared: false, file, line)
      return add(object, request, policy, reading: { read }) { owner, object, change in
        // Released with the observer, which ends the system's observation.
        try withExtendedLifetime(system) { try observer(owner, object, change) }
      }
    }
  }
#endif
