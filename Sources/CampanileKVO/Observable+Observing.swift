public import Campanile
public import Observation

extension Observable where Self: AnyObject {
  /// Observes a key path until the token is released, and calls the observer where the change is
  /// made.
  ///
  /// - Parameters:
  ///   - keyPath: Which of the object's values. It may lead through other objects and optionals, and
  ///     to computed properties. If it reads no property that can be observed, one line on standard
  ///     error says so, and the observation ends.
  ///   - options: What else is wanted besides the new values.
  ///   - isolation: The isolation of the caller, where the observer runs.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called, with the object and the change, before the setter returns. What it
  ///     throws is written to standard error.
  /// - Returns: A token that ends the observation when it is released. It keeps the observer, and not
  ///   the object.
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, _ options: KVOChange<Value>.Options = [],
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ observer: @escaping (Self, KVOChange<Value>) throws -> Void
  ) -> KVOToken {
    KVORequest(self, keyPath, options, isOnMain: isolation.isMain, file, line).observe(observer)
  }

  /// Observes what a closure reads until the token is released, and calls the observer where one of
  /// these properties is changed.
  ///
  /// - Parameters:
  ///   - value: Reads the value, by properties of the object and of others that it leads to. It is
  ///     called again after each change of one of them.
  ///   - options: What else is wanted besides the new values.
  ///   - isolation: The isolation of the caller, where the observer and the closure run.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called, with the object and the change.
  /// - Returns: A token that ends the observation when it is released.
  public func observe<Value>(
    of value: @escaping (Self) -> Value, _ options: KVOChange<Value>.Options = [],
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ observer: @escaping (Self, KVOChange<Value>) throws -> Void
  ) -> KVOToken {
    KVORequest(self, of: value, options, isOnMain: isolation.isMain, file, line).observe(observer)
  }

  /// The changes of a main-actor key path, to be observed in every way there is.
  ///
  /// - Parameters:
  ///   - keyPath: Which of the object's values.
  ///   - options: What is wanted besides the new values; `.once` is asked of an observation.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  @MainActor
  public func changes<Value: Sendable>(
    of keyPath: KeyPath<Self, Value>, _ options: KVOChange<Value>.Options = [],
    file: StaticString = #fileID, line: UInt = #line
  ) -> KeyPathChanges<Value> {
    KeyPathChanges(KVORequest(self, keyPath, options, isOnMain: true, file, line))
  }
}

extension SharedObservable {
  /// Observes a key path until the token is released, and calls the observer on the thread that makes
  /// the change.
  ///
  /// If two threads change the object at once, one of them calls the observer for both, one change
  /// after the other. The other setter may return earlier. To run the observer elsewhere, observe
  /// ``changes(of:_:file:line:)``.
  ///
  /// - Parameters:
  ///   - keyPath: Which of the object's values. It may lead through other objects and optionals, and
  ///     to computed properties. If it reads no property that can be observed, one line on standard
  ///     error says so, and the observation ends.
  ///   - options: What else is wanted besides the new values.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called, with the object and the change. What it throws is written to
  ///     standard error.
  /// - Returns: A token that ends the observation when it is released. It keeps the observer, and not
  ///   the object.
  public func observe<Value: Sendable>(
    _ keyPath: any KeyPath<Self, Value> & Sendable, _ options: KVOChange<Value>.Options = [],
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    KVORequest(self, keyPath, options, file, line).forAnyThread.observe(observer)
  }

  /// Observes what a closure reads until the token is released, and calls the observer on the thread
  /// that changes one of these properties.
  ///
  /// - Parameters:
  ///   - value: Reads the value, by properties of the object and of others that it leads to. It is
  ///     called again after each change of one of them.
  ///   - options: What else is wanted besides the new values.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called, with the object and the change.
  /// - Returns: A token that ends the observation when it is released.
  public func observe<Value: Sendable>(
    of value: @escaping @Sendable (Self) -> Value, _ options: KVOChange<Value>.Options = [],
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Self, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    KVORequest(self, of: value, options, file, line).forAnyThread.observe(observer)
  }

  /// The changes of a key path, to be observed in every way there is.
  ///
  /// - Parameters:
  ///   - keyPath: Which of the object's values.
  ///   - options: What is wanted besides the new values; `.once` is asked of an observation.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  public func changes<Value: Sendable>(
    of keyPath: any KeyPath<Self, Value> & Sendable, _ options: KVOChange<Value>.Options = [],
    file: StaticString = #fileID, line: UInt = #line
  ) -> KeyPathChanges<Value> {
    KeyPathChanges(KVORequest(self, keyPath, options, file, line).forAnyThread)
  }
}

extension KVORequest {
  /// Begins an observation whose observer stays in the isolation of the object.
  fileprivate func observe(
    _ observer: @escaping (Object, KVOChange<Value>) throws -> Void
  ) -> KVOToken {
    KVOToken(begin(observer))
  }

  private func begin(
    _ observer: @escaping (Object, KVOChange<Value>) throws -> Void
  ) -> Registration {
    let object = ObjectReference(object, isRetained: false)
    let (registration, isObserved) = KeyPathEvaluation.observe(self, owner: nil) { change in
      guard let object = object.object else { throw SourceRegistry.endOfObservation }
      try observer(object, change)
    }
    if !isObserved { warnOfNothing() }
    return registration
  }
}

extension KVORequest where Object: Sendable, Value: Sendable {
  /// Begins an observation whose observer runs on any thread.
  fileprivate func observe(
    _ observer: @escaping @Sendable (Object, KVOChange<Value>) throws -> Void
  ) -> ObservationToken {
    ObservationToken(begin(observer))
  }
}
