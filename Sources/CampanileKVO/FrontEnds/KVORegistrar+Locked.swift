internal import Campanile
internal import Observation
public import Synchronization

/// Properties whose values are stored behind a lock.
extension KVORegistrar {
  /// Reads a property whose value is stored in a `Mutex`.
  ///
  /// Call this in its getter.
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
  ///
  /// The getter should return what this method returns.
  ///
  /// If it returns another value, observers receive that value in their initial call, and the
  /// stored values afterwards.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - state: The lock that stores the value.
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
  /// No value is lost, however many threads set the property. Observers of this key path are
  /// notified of each change once, in the order in which the lock was taken. The old value of a
  /// change is the new value of the previous change, unless a transaction or a change announced by
  /// hand overlaps it.
  ///
  /// One thread notifies at a time. If another thread or an observer makes a change meanwhile, the
  /// change is queued, and the notifying thread delivers it. So a setter may return before the
  /// observers of its change have run. After each 64 changes, the notifying thread lets another one
  /// that sets the property go on. A thread that notifies of a transaction, or of a change announced
  /// by hand, goes on until nothing is queued.
  ///
  /// A transaction notifies with the value at its end. Changes that this value includes are not
  /// reported again. The same holds for a change announced by hand. Observers of other key paths
  /// that lead to the property receive the value at the time of the call. So do observers of
  /// closures that read it.
  ///
  /// Once the property has been observed, a set copies the old value. An array that is changed in
  /// place is then copied.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property. A key path to a value of another type does not compile.
  ///   - state: The lock that stores the value.
  ///   - newValue: The new value.
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
  ///   - keyPath: The property. A key path to a value of another type does not compile.
  ///   - state: The lock that stores the value.
  ///   - body: Changes the value, with the lock held. If it throws, the change is reported too.
  /// - Returns: What `body` returns.
  @discardableResult
  public func update<Subject: SharedObservable, Value: Sendable, Result, Failure: Error>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<Value>,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try update(subject, keyPath, under: { change in state.withLock { change(&$0) } }, body)
  }

  /// Reads one of several properties whose values are stored together in a `Mutex`.
  ///
  /// Call this in its getter.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - state: The lock that stores the values.
  ///   - place: The stored value of the property.
  public func get<Subject: SharedObservable, State, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any KeyPath<State, Value> & Sendable
  ) -> Value {
    value(of: subject, keyPath) { read in state.withLock { read($0[keyPath: place]) } }
  }

  /// Sets one of several properties whose values are stored together in a `Mutex`.
  ///
  /// Call this in its setter.
  ///
  /// Order, threads and cost are those of ``set(_:_:in:to:)``.
  ///
  /// ```swift
  /// set { registrar.set(self, \.title, in: state, \.title, to: newValue) }
  /// ```
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property. A key path to a value of another type does not compile.
  ///   - state: The lock that stores the values.
  ///   - place: The stored value of the property.
  ///   - newValue: The new value.
  public func set<Subject: SharedObservable, State, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any WritableKeyPath<State, Value> & Sendable, to newValue: Value
  ) {
    var replaced = newValue
    // Exchanged, so that the old value is released outside the lock.
    update(subject, keyPath, in: state, place) { swap(&$0, &replaced) }
  }

  /// Changes, in place, one of several properties whose values are stored together in a `Mutex`.
  ///
  /// Order, threads and cost are those of ``set(_:_:in:to:)``.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property. A key path to a value of another type does not compile.
  ///   - state: The lock that stores the values.
  ///   - place: The stored value of the property.
  ///   - body: Changes the value, with the lock held. If it throws, the change is reported too.
  /// - Returns: What `body` returns.
  @discardableResult
  public func update<
    Subject: SharedObservable, State, Value: Sendable, Result, Failure: Error
  >(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any WritableKeyPath<State, Value> & Sendable,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try update(
      subject, keyPath, under: { change in state.withLock { change(&$0[keyPath: place]) } }, body)
  }

  private func update<Subject: SharedObservable, Value: Sendable, Result, Failure: Error>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>,
    under lock: (_ change: (inout Value) -> Void) -> Void,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var result: Swift.Result<Result, Failure>?
    change(of: subject, keyPath, under: lock) { value in
      do throws(Failure) {
        result = .success(try body(&value))
      } catch {
        result = .failure(error)
      }
    }
    // `change` runs its closure.
    return try result!.get()
  }

  /// Reads a value under a lock, with the number of the change that stored it.
  ///
  /// - Parameter lock: Takes the lock, and calls its argument once with the value.
  package func value<Subject: SharedObservable, Value: Sendable>(
    of subject: Subject, _ keyPath: KeyPath<Subject, Value>,
    under lock: (_ read: (Value) -> Void) -> Void
  ) -> Value {
    track(keyPath)
    var value: Value?
    let property = Scope.isAnyOpen ? collected(subject, keyPath) : nil
    if let (property, collector) = property {
      var revision: UInt = 0
      lock {
        revision = property.revision
        value = $0
      }
      collector.add(property, revision, isExact: true)
    } else {
      lock { value = $0 }
    }
    // `lock` runs its closure.
    return value!
  }

  /// Makes a change under a lock, and reports it with the values that were found there.
  ///
  /// - Parameters:
  ///   - lock: Takes the lock, and calls its argument once with the value.
  ///   - body: Changes the value.
  package func change<Subject: SharedObservable, Value: Sendable>(
    of subject: Subject, _ keyPath: KeyPath<Subject, Value>,
    under lock: (_ change: (inout Value) -> Void) -> Void, _ body: (inout Value) -> Void
  ) {
    if uses.include(PropertyUses.tracked) { standard.willSet(shared: keyPath) }
    // The compiler does not allow passing one closure parameter to another.
    withoutActuallyEscaping(body) { body in
      while !tryChange(keyPath, under: lock, body) {}
    }
    if uses.include(PropertyUses.tracked) { standard.didSet(shared: keyPath) }
    if Scope.isAnyOpen && !uses.isNone { Scope.note(KVOPath(keyPath), of: subject) }
  }

  /// - Returns: Whether the change was made. It isn't made if a property was first observed, or was
  ///   retired, between the look-up and the lock.
  private func tryChange<Subject, Value: Sendable>(
    _ keyPath: KeyPath<Subject, Value>, under lock: (_ change: (inout Value) -> Void) -> Void,
    _ body: @escaping (inout Value) -> Void
  ) -> Bool {
    let count = additionCount
    let property = uses.isNone ? nil : property(keyPath)
    var change = LockedChange<Value>(of: property)
    var isMade = false
    lock { value in
      // An observer creates the property before it reads the value under this lock. If the property
      // does not exist yet, or not again, the observer will read the new value.
      if change.isRetired || property == nil && additionCount != count { return }
      change.make(&value, body)
      isMade = true
    }
    if isMade { change.end() }
    return isMade
  }
}
