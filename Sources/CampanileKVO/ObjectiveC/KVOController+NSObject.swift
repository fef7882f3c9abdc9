#if canImport(ObjectiveC)
  internal import Campanile
  public import Foundation

  /// Observing Objective-C properties through the system's key-value observing.
  extension KVOController {
    /// Observes a key path of an `NSObject`, and calls the observer where the change is made.
    ///
    /// The properties on the way are `@objc dynamic`. The system says when one has changed, and the
    /// options, policies, transactions and ends are those of every other observation. A collection's
    /// changes are told as settings. The object's death is noticed when the observation is looked at.
    ///
    /// - Parameters:
    ///   - object: What is observed.
    ///   - keyPath: Which of its values.
    ///   - options: What else is wanted besides the new values.
    ///   - policy: What to do if the key path is observed already.
    ///   - isolation: The isolation of the caller, where the observer runs.
    ///   - file: The caller's file, for descriptions and failures.
    ///   - line: The caller's line.
    ///   - observer: What is called, with the owner, the object and the change.
    /// - Returns: The registration, and whether it is new.
    @discardableResult
    public func observe<Object: NSObject, Value>(
      _ object: Object, _ keyPath: KeyPath<Object, Value>,
      _ options: KVOChange<Value>.Options = .init(),
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
      // Each has a property of its own.
      let request = KVORequest(
        keyPath, options, isOnMain: isolation.isMain, isShared: false, file, line)
      return add(object, request, policy, reading: { read }) { owner, object, change in
        // Released with the observer, which ends what the system does.
        try withExtendedLifetime(system) { try observer(owner, object, change) }
      }
    }
  }
#endif
