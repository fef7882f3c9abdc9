internal import Campanile
internal import Observation
public import Synchronization

/// Properties whose values are kept behind a lock.
extension KVORegistrar {
  /// Reads a property whose value a `Mutex` keeps; for its getter.
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
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - state: Where the object keeps its value.
  public func get<Subject: SharedObservable, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<Value>
  ) -> Value {
    value(of: subject, keyPath) { read in state.withLock { read($0) } }
  }

  /// Sets a property whose value a `Mutex` keeps, and tells the change with the values that were found
  /// under the lock; for its setter.
  ///
  /// No value is lost, however many threads set the property. Observers of the property itself are told
  /// each change once, in the order in which the lock was taken, and the old value of a change is the new
  /// one of the change before. One thread tells; a set that another thread makes meanwhile, or an
  /// observer, is told next by the thread that tells. So a setter may return before its change is told.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property. A key path to a value of another type does not compile.
  ///   - state: Where the object keeps its value.
  ///   - newValue: The new value.
  public func set<Subject: SharedObservable, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<Value>,
    to newValue: Value
  ) {
    var replaced = newValue
    // Exchanged, so that the old value is not released under the lock.
    update(subject, keyPath, in: state) { swap(&$0, &replaced) }
  }

  /// Changes a property whose value a `Mutex` keeps in place, and tells the change with the values that
  /// were found under the lock.
  ///
  /// What ``set(_:_:in:to:)`` says holds here too.
  ///
  /// ```swift
  /// func increment() { registrar.update(self, \.count, in: state) { $0 += 1 } }
  /// ```
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property. A key path to a value of another type does not compile.
  ///   - state: Where the object keeps its value.
  ///   - body: Changes the value, with the lock held. The change is told also if it throws.
  /// - Returns: What `body` returns.
  @discardableResult
  public func update<Subject: SharedObservable, Value: Sendable, Result, Failure: Error>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<Value>,
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var result: Swift.Result<Result, Failure>?
    change(of: subject, keyPath, under: { change in state.withLock { change(&$0) } }) { value in
      do throws(Failure) {
        result = .success(try body(&value))
      } catch {
        result = .failure(error)
      }
    }
    // `change` runs its closure.
    return try result!.get()
  }

  /// Reads one of several properties whose values a `Mutex` keeps together; for its getter.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - state: Where the object keeps its values.
  ///   - place: Which of them it is.
  public func get<Subject: SharedObservable, State, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any KeyPath<State, Value> & Sendable
  ) -> Value {
    value(of: subject, keyPath) { read in state.withLock { read($0[keyPath: place]) } }
  }

  /// Sets one of several properties whose values a `Mutex` keeps together; for its setter.
  ///
  /// What ``set(_:_:in:to:)`` says holds here too.
  ///
  /// ```swift
  /// set { registrar.set(self, \.title, in: state, \.title, to: newValue) }
  /// ```
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property. A key path to a value of another type does not compile.
  ///   - state: Where the object keeps its values.
  ///   - place: Which of them it is.
  ///   - newValue: The new value.
  public func set<Subject: SharedObservable, State, Value: Sendable>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Value>, in state: borrowing Mutex<State>,
    _ place: any WritableKeyPath<State, Value> & Sendable, to newValue: Value
  ) {
    var replaced = newValue
    change(
      of: subject, keyPath, under: { change in state.withLock { change(&$0[keyPath: place]) } }
    ) {
      swap(&$0, &replaced)
    }
  }

  /// Reads a value under a lock, with the number of the change that stored it.
  ///
  /// - Parameter lock: Calls what it is given with the value, once, with the lock held.
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

  /// Makes a change under a lock, and tells it with the values that were found there.
  ///
  /// - Parameters:
  ///   - lock: Calls what it is given with the value, once, with the lock held.
  ///   - body: Changes the value.
  package func change<Subject: SharedObservable, Value: Sendable>(
    of subject: Subject, _ keyPath: KeyPath<Subject, Value>,
    under lock: (_ change: (inout Value) -> Void) -> Void, _ body: (inout Value) -> Void
  ) {
    if uses.include(PropertyUses.tracked) { standard.willSet(shared: keyPath) }
    var change = LockedChange<Value>(of: uses.isNone ? nil : property(keyPath))
    // The compiler does not let one closure parameter be handed to another.
    withoutActuallyEscaping(body) { body in lock { change.make(&$0, body) } }
    if uses.include(PropertyUses.tracked) { standard.didSet(shared: keyPath) }
    if uses.isNone { return }
    if Scope.isAnyOpen { Scope.note(KVOPath(keyPath), of: subject) }
    if !change.end() {
      // It was asked about while the change was made.
      property(keyPath)?.didChange()
    }
  }
}
