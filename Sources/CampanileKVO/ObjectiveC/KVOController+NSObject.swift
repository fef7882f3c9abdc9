#if canImport(ObjectiveC)
  internal import Campanile
  public import Foundation

  /// Observing Objective-C properties through the system's key-value observing.
  extension KVOController {
    /// Observes a key path of an `NSObject` where it is changed.
    ///
    /// The properties on the way are `@objc dynamic`; the system says when one has changed, and the
    /// options, policies, transactions and ends are those of every other observation. A
    /// collection's changes are told as settings. The object's death is noticed when the
    /// observation is looked at.
    ///
    /// - Parameters:
    ///   - object: What is observed.
    ///   - keyPath: Which of its values.
    ///   - options: What else is wanted besides the new values.
    ///   - policy: What to do if the key path is observed already.
    ///   - isolation: The isolation of the caller.
    ///   - file: The caller's file, for descriptions and failures.
    ///   - line: The caller's line.
    ///   - handler: What is called, with the owner, the object and the change.
    /// - Returns: Whether the observation was made.
    @discardableResult
    public func observe<Object: NSObject, Value>(
      _ object: Object, _ keyPath: KeyPath<Object, Value>, options: KVOOptions<Value> = [],
      policy: KVOPolicy = .ignore, isolation: isolated (any Actor)? = #isolation,
      file: StaticString = #fileID, line: UInt = #line,
      _ handler: @escaping (Owner, Object, KVOChange<Value>) throws -> Void
    ) -> KVOResult {
      let subject = ObservedProperty.Subject(ObjectIdentifier(object))
      let property = ObservedProperty(keyPath, of: subject, SourceRegistry())
      let system = object.observe(keyPath, options: [.prior]) { _, change in
        if change.isPrior { property.willChange() } else { property.didChange() }
      }
      var request = KVORequest(
        object, keyPath, options, policy, isOnMain: isolation.isMain, file, line)
      request.read = { object in
        // The system's getters do not report themselves.
        Scope.current.collector?.add(property)
        return object[keyPath: keyPath]
      }
      return addConfined(request) { owner, object, change in
        // Released with the observer, which ends what the system does.
        try withExtendedLifetime(system) { try handler(owner, object, change) }
      }
    }
  }
#endif
