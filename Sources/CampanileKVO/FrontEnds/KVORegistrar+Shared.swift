internal import Observation
public import Synchronization

/// What a class that any thread may change reports.
extension KVORegistrar {
  /// Reports that a property is read; for its getter, before it returns the value.
  ///
  /// For properties whose value is kept, in the object or elsewhere. A property that is computed
  /// from observed ones reports nothing: those do.
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

  /// Runs `mutation`, and reports it as a change of a property; for its setter.
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

  /// Announces that a property which is not stored is about to change.
  ///
  /// Announcements of one property nest: of several that are open, the outermost counts. They may
  /// be made and taken back on different threads. Other changes of the property that begin meanwhile,
  /// on any thread, are part of that change. It is reported once, when all of them have ended. So
  /// an announcement that is never taken back with `didChange(_:keyPath:)` keeps every later change of
  /// the property from being reported. An announcement inside a set of the same property is a separate
  /// change.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  public func willChange<Subject: SharedObservable, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if beginByHand(subject, keyPath) { standard.willSet(shared: keyPath) }
  }

  /// Announces that a property which is not stored has changed.
  ///
  /// Without a `willChange(_:keyPath:)` to take back it does nothing. The change is reported here, or
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
