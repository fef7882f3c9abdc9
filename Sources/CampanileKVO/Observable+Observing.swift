public import Campanile
public import Observation

extension Observable where Self: AnyObject {
  /// Observes a key path until the token is released, and calls the observer where the change is
  /// made.
  ///
  /// - Parameters:
  ///   - keyPath: The observed value. If it reads no property that can be observed, one line on
  ///     standard error says so, and the observation ends.
  ///   - options: What to report in addition to the new values.
  ///   - isolation: The isolation of the caller, where the observer runs.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the object and the change, before the setter returns. Errors that it
  ///     throws are written to standard error.
  /// - Returns: A token that ends the observation when it is released, so keep it in a property. It
  ///   retains the observer, but not the object. Any thread may release it, and then releases the
  ///   captures of the observer too.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, options: KVOChange<Value>.Options = .init(),
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ observer: @escaping (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    let request = KVORequest(keyPath, options, isOnMain: isolation.isMain, file, line)
    return request.begin(self, reading: { { $0[keyPath: keyPath] } }, observer)
  }

  /// Observes the properties that a closure reads until the token is released, and calls the
  /// observer where one of them is changed.
  ///
  /// The closure runs in the isolation of the caller, and again after each change of a property
  /// that it has read. Otherwise this method is like ``observe(_:options:isolation:file:line:_:)``.
  public func observe<Value>(
    of value: @escaping (Self) -> Value, options: KVOChange<Value>.Options = .init(),
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ observer: @escaping (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    let request = KVORequest(
      \Self.self, options, isOnMain: isolation.isMain, isShared: false, file, line)
    return request.begin(self, reading: { value }, observer)
  }

  /// The changes of a main-actor key path, as a source with every form of `observe`.
  ///
  /// The option `.once` has no effect here: pass it to an observation of the source.
  @MainActor
  public func changes<Value: Sendable>(
    of keyPath: KeyPath<Self, Value>, options: KVOChange<Value>.Options = .init(),
    file: StaticString = #fileID, line: UInt = #line
  ) -> KeyPathChanges<Value> {
    KeyPathChanges(self, KVORequest(keyPath, options, isOnMain: true, file, line)) {
      $0[keyPath: keyPath]
    }
  }
}

extension SharedObservable {
  /// Observes a key path until the token is released, and calls the observer on the thread that
  /// makes the change.
  ///
  /// The observer never runs on two threads at a time: if two threads change the object at once, one
  /// of them calls the observer for both changes, and the other setter may return before that. To run
  /// the observer elsewhere, observe ``changes(of:options:file:line:)``.
  ///
  /// - Parameters:
  ///   - keyPath: The observed value. If it reads no property that can be observed, one line on
  ///     standard error says so, and the observation ends.
  ///   - options: What to report in addition to the new values.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the object and the change. Errors that it throws are written to
  ///     standard error.
  /// - Returns: A token that ends the observation when it is released. It retains the observer, but
  ///   not the object.
  public func observe<Value: Sendable>(
    _ keyPath: any KeyPath<Self, Value> & Sendable,
    options: KVOChange<Value>.SharedOptions = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    let request = KVORequest(keyPath, options.options, isForAnyThread: true, file, line)
    return request.begin(self, reading: { { $0[keyPath: keyPath] } }, observer)
  }

  /// Observes the properties that a closure reads until the token is released, and calls the
  /// observer on the thread that changes one of them.
  ///
  /// The closure runs again after each change of a property that it has read, on the thread that
  /// calls the observer. Otherwise this method is like ``observe(_:options:file:line:_:)``.
  public func observe<Value: Sendable>(
    of value: @escaping @Sendable (Self) -> Value,
    options: KVOChange<Value>.SharedOptions = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    let request = KVORequest(
      \Self.self, options.options, isForAnyThread: true, isShared: false, file, line)
    return request.begin(self, reading: { value }, observer)
  }

  /// The changes of a key path, as a source with every form of `observe`.
  ///
  /// The option `.once` has no effect here: pass it to an observation of the source.
  public func changes<Value: Sendable>(
    of keyPath: any KeyPath<Self, Value> & Sendable,
    options: KVOChange<Value>.SharedOptions = .init(),
    file: StaticString = #fileID, line: UInt = #line
  ) -> KeyPathChanges<Value> {
    KeyPathChanges(self, KVORequest(keyPath, options.options, isForAnyThread: true, file, line)) {
      $0[keyPath: keyPath]
    }
  }
}

extension KVORequest {
  /// Begins an observation without an owner.
  ///
  /// - Parameter observer: For an object that any thread may change, it is `Sendable`.
  fileprivate func begin<Object: AnyObject, Value>(
    _ object: Object, reading makeRead: () -> (Object) -> Value,
    _ observer: @escaping (Object, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    let (registration, _) = observe(object, reading: makeRead) { gate, root in
      { change in
        guard let object = root.object else { throw ObservationIsOver() }
        // A closure that is made only where it is needed.
        if gate.isOpen(for: change) { return try observer(object, change) }
        try gate.call(change) { try observer(object, $0) }
      }
    }
    return ObservationToken(registration)
  }
}
