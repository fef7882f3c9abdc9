internal import Observation

/// Reports of a class whose objects any thread may change.
extension KVORegistrar {
  /// Reports that a property of a `SharedObservable` is read.
  ///
  /// Call this in its getter, before the value is returned.
  @inlinable
  public func access<Subject: SharedObservable, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if Scope.isAnyOpen, collect(subject, keyPath) { return }
    track(keyPath)
  }

  @usableFromInline
  func track(_ keyPath: AnyKeyPath) {
    if uses.areTracked(with: standard) { standard.access(shared: keyPath) }
  }

  /// Runs `mutation`, and reports it as a change of a property of a `SharedObservable`.
  ///
  /// Call this in its setter, if the value is not stored in a `Mutex`; if it is, use
  /// ``set(_:_:in:to:)`` or ``update(_:_:in:_:)``, whose observers receive the values of each
  /// change. Here an observer receives the value at the time of its call, because other threads may
  /// make changes between the beginning and the end of this one.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - mutation: Changes the value, under the lock of the class. If it throws, the change is
  ///     reported too.
  /// - Returns: The result of `mutation`.
  @inlinable
  public func withMutation<Subject: SharedObservable, Member, Result>(
    of subject: Subject, keyPath: KeyPath<Subject, Member>, _ mutation: () throws -> Result
  ) rethrows -> Result {
    if !uses.isNone { reportWillChange(keyPath) }
    defer { if !uses.isNone { reportDidChange(keyPath) } }
    return try mutation()
  }

  @usableFromInline
  func reportWillChange(_ keyPath: AnyKeyPath) {
    if uses.include(PropertyUses.tracked) { standard.willSet(shared: keyPath) }
  }

  @usableFromInline
  func reportDidChange(_ keyPath: AnyKeyPath) {
    noteEndOfTracked(keyPath)
    guard let property = property(keyPath) else { return }
    property.noteChange()
    property.reportShared(isStored: false)
  }

  /// Reports to the standard registrar that a property has changed.
  func noteEndOfTracked(_ keyPath: AnyKeyPath) {
    if !uses.include(PropertyUses.tracked) { return }
    // Other threads may have read the old value and be tracked again since the first such report.
    standard.willSet(shared: keyPath)
    standard.didSet(shared: keyPath)
  }

  /// Announces, outside the accessors, that a property of a `SharedObservable` is about to change;
  /// `didChange(_:keyPath:)` must follow.
  public func willChange<Subject: SharedObservable, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if uses.include(PropertyUses.tracked) { standard.willSet(shared: keyPath) }
  }

  /// Announces that a property of a `SharedObservable` has changed; observers receive the value at
  /// the time of the call.
  public func didChange<Subject: SharedObservable, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if !uses.isNone { reportDidChange(keyPath) }
  }
}
