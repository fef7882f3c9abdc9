internal import Campanile
internal import Observation
public import Synchronization

/// Properties whose values are stored behind a lock.
extension KVORegistrar {
  /// Reads a property whose value is stored in a `Mutex`.
  ///
  /// Call this in its getter, which should return the result as it is, because observers receive
  /// the stored values.
  ///
  /// ```swift
  /// final class Counter: SharedObservable {
  ///   private let registrar = KVORegistrar()
  ///   private let state = Mutex(0)
  ///
  ///   var count: Int {
  ///     get { registrar.get(self, \.count, in: state) }
  ///     set { registrar.set(self, \.count, in: state, to: newValue) }
  ///   }
  /// }
  /// ```
  public func get<Subject: SharedObservable, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<Value>
  ) -> Value {
    value(of: subject, keyPath) { read in state.withLock { read($0) } }
  }

  /// Sets a property whose value is stored in a `Mutex`, and reports the values that were found
  /// under the lock.
  ///
  /// Call this in its setter.
  ///
  /// No value is lost, however many threads set the property. Observers of this key path receive each
  /// change once, in the order in which the lock was taken. Observers of other key paths that lead to
  /// the property receive the newest value.
  ///
  /// One thread at a time calls the observers, also for changes that other threads make in the
  /// meantime; after each 64 calls, it leaves the rest to another thread that sets the property.
  /// Once the property has been observed, a set copies the old value, for example an array.
  public func set<Subject: SharedObservable, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<Value>,
    to newValue: Value
  ) {
    var replaced = newValue
    // Exchanged, so that the old value is released outside the lock.
    update(subject, keyPath, in: state) { swap(&$0, &replaced) }
  }

  /// Changes, in place, a property whose value is stored in a `Mutex`, and reports the values that
  /// were found under the lock.
  ///
  /// Order, threads and cost are those of ``set(_:_:in:to:)``.
  ///
  /// ```swift
  /// func increment() { registrar.update(self, \.count, in: state) { $0 += 1 } }
  /// ```
  ///
  /// From outside, `counter.count += 1` is a read and a set. If two threads do it at once, one
  /// increment is lost.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - state: The lock that stores the value.
  ///   - body: Changes the value, with the lock held. If it throws, the change is reported too.
  /// - Returns: The result of `body`.
  @discardableResult
  public func update<Subject: SharedObservable, Value: Sendable, Result, Failure: Error>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<Value>,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try change(of: subject, keyPath, under: { change in state.withLock { change(&$0) } }, body)
  }

  /// Reads one of several properties whose values are stored together in a `Mutex`, like
  /// ``get(_:_:in:)``; `place` is its value in the state.
  public func get<Subject: SharedObservable, State, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any KeyPath<State, Value> & Sendable
  ) -> Value {
    value(of: subject, keyPath) { read in state.withLock { read($0[keyPath: place]) } }
  }

  /// Sets one of several properties whose values are stored together in a `Mutex`, like
  /// ``set(_:_:in:to:)``; `place` is its value in the state.
  ///
  /// ```swift
  /// set { registrar.set(self, \.title, in: state, \.title, to: newValue) }
  /// ```
  public func set<Subject: SharedObservable, State, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any WritableKeyPath<State, Value> & Sendable, to newValue: Value
  ) {
    var replaced = newValue
    // Exchanged, so that the old value is released outside the lock.
    update(subject, keyPath, in: state, place) { swap(&$0, &replaced) }
  }

  /// Changes, in place, one of several properties whose values are stored together in a `Mutex`, like
  /// ``update(_:_:in:_:)``; `place` is its value in the state.
  @discardableResult
  public func update<
    Subject: SharedObservable, State, Value: Sendable, Result, Failure: Error
  >(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any WritableKeyPath<State, Value> & Sendable,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try change(
      of: subject, keyPath, under: { change in state.withLock { change(&$0[keyPath: place]) } },
      body)
  }

  /// Reads a value under a lock, with the number of the change that stored it.
  ///
  /// - Parameter lock: Takes the lock, and calls its argument once.
  package func value<Subject: SharedObservable, Value: Sendable>(
    of subject: Subject, _ keyPath: KeyPath<Subject, Value>,
    under lock: (_ read: (Value) -> Void) -> Void
  ) -> Value {
    var value: Value?
    if let collector = Scope.current?.collector {
      let property = property(keyPath, of: subject)
      var revision: UInt = 0
      lock {
        revision = property.revision
        value = $0
      }
      collector.add(property, revision, isExact: true)
    } else {
      track(keyPath)
      lock { value = $0 }
    }
    // `lock` runs its closure.
    return value!
  }

  /// Makes a change under a lock, and reports it with the values that were found there.
  ///
  /// - Parameters:
  ///   - lock: Takes the lock, and calls its argument once.
  ///   - body: Changes the value.
  package func change<Subject: SharedObservable, Value: Sendable, Result, Failure: Error>(
    of subject: Subject, _ keyPath: KeyPath<Subject, Value>,
    under lock: (_ change: (inout Value) -> Void) -> Void,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if uses.include(PropertyUses.tracked) { standard.willSet(shared: keyPath) }
    var result: Swift.Result<Result, Failure>?
    while result == nil {
      tryChange(keyPath, under: lock) { value in
        do throws(Failure) {
          result = .success(try body(&value))
        } catch {
          result = .failure(error)
        }
      }
    }
    noteEndOfTracked(keyPath)
    return try result!.get()
  }

  /// Makes a change, unless a property is first observed between the look-up and the lock.
  private func tryChange<Subject, Value: Sendable>(
    _ keyPath: KeyPath<Subject, Value>, under lock: (_ change: (inout Value) -> Void) -> Void,
    _ body: (inout Value) -> Void
  ) {
    let count = changeCount
    let property = uses.isNone ? nil : property(keyPath)
    let edit = Scope.current?.edit
    // Released outside the lock.
    var old: Value?
    // The compiler does not allow passing one closure parameter to another.
    withoutActuallyEscaping(body) { body in
      lock { value in
        // An observer creates the property before it reads the value under this lock. If the property
        // does not exist yet, the observer will read the new value.
        if property == nil && changeCount != count { return }
        guard let property else { return body(&value) }
        old = value
        body(&value)
        if let old { property.store(old, value, edit) }
      }
    }
    property?.reportShared(isStored: true)
    withExtendedLifetime(old) {}
  }
}
