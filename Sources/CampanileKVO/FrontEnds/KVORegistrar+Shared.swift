internal import Observation
public import Synchronization

/// Reports of a class whose objects any thread may change.
extension KVORegistrar {
  /// Reports that a property of a `SharedObservable` is read.
  ///
  /// Call this in its getter, before the value is returned.
  ///
  /// This is for properties whose value is stored, in the object or elsewhere. A property that is
  /// computed from observed properties reports nothing: the observed properties do.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  @inlinable
  public func access<Subject: SharedObservable, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    track(keyPath)
    if OpenScopes.count.load(ordering: .relaxed) != 0 { collect(subject, keyPath) }
  }

  @usableFromInline
  func track(_ keyPath: AnyKeyPath) {
    if uses.areTracked(with: standard) { standard.access(shared: keyPath) }
  }

  /// Runs `mutation`, and reports it as a change of a property of a `SharedObservable`.
  ///
  /// Call this in its setter, if the value is not stored in a `Mutex`. If it is, use
  /// ``set(_:_:in:to:)`` or ``update(_:_:in:_:)``: their observers receive the values of each
  /// change. Here an observer receives the value at the time of its call. If `mutation` throws, the
  /// change is reported too.
  ///
  /// Other threads may make changes between the beginning and the end of this one.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - mutation: Changes the value, under the lock of the class.
  /// - Returns: What `mutation` returns.
  @inlinable
  public func withMutation<Subject: SharedObservable, Member, Result>(
    of subject: Subject, keyPath: KeyPath<Subject, Member>, _ mutation: () throws -> Result
  ) rethrows -> Result {
    if !uses.isNone { tellWillChange(keyPath) }
    defer { if !uses.isNone { tellDidChange(subject, keyPath) } }
    return try mutation()
  }

  @usableFromInline
  func tellWillChange(_ keyPath: AnyKeyPath) {
    if uses.include(PropertyUses.tracked) { standard.willSet(shared: keyPath) }
    property(keyPath)?.willChange(isShared: true)
  }

  @usableFromInline
  func tellDidChange(_ subject: AnyObject, _ keyPath: AnyKeyPath) {
    if uses.include(PropertyUses.tracked) { standard.didSet(shared: keyPath) }
    endChange(of: subject, keyPath, isShared: true)
  }

  /// Announces that a property of a `SharedObservable` is about to change.
  ///
  /// It is for a property that does not report its changes itself, and for code outside the
  /// property's accessors. A setter uses `withMutation(of:keyPath:_:)`, or ``set(_:_:in:to:)`` for
  /// a value in a `Mutex`.
  ///
  /// Announcements of one property nest: of several open ones, the outermost counts. A `willChange`
  /// and its `didChange` may be on different threads. Other changes of the property that begin
  /// meanwhile, on any thread, are part of the announced change. It is reported once, when all of
  /// them have ended. So a `willChange` without its `didChange(_:keyPath:)` keeps every later
  /// change of the property from being reported. Do not announce a change inside a set of the same
  /// property: it may be reported twice.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  public func willChange<Subject: SharedObservable, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if beginByHand(subject, keyPath) { standard.willSet(shared: keyPath) }
  }

  /// Announces that a property of a `SharedObservable` has changed.
  ///
  /// Without an open `willChange(_:keyPath:)`, it does nothing. The change is reported here, or
  /// where the last change that is part of it ends.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  public func didChange<Subject: SharedObservable, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if endByHand(subject, keyPath) { standard.didSet(shared: keyPath) }
  }
}
