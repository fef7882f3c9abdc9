internal import Campanile
public import Observation

/// Makes the properties of a class observable by key path.
///
/// In a class with the standard macro, it is one line. The macro finds the name, and uses this
/// registrar instead of its default one:
///
/// ```swift
/// @Observable final class Player {
///   @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
///   var title = ""
/// }
/// ```
///
/// In a class hierarchy, every class with the macro declares its own registrar.
/// `withObservationTracking` and `Observations` work as before. The setters of the macro do not
/// report a set to an equal value, if the values can be compared.
///
/// Other properties report their reads and changes:
///
/// - A property that is stored in a `Mutex`, in a ``SharedObservable`` class, uses `get`, `set` and
///   `update`, which take the lock: see ``get(_:_:in:)``.
/// - A property that is stored elsewhere, for instance behind another lock, calls
///   `access(_:keyPath:)` in its getter, and `withMutation(of:keyPath:_:)` in its setter.
/// - An accessor that changes the property in place, such as `_modify`, calls
///   ``willSet(_:keyPath:)`` before the change, and ``didSet(_:keyPath:)`` after it. Both are
///   called on one thread, so do not pass such a property `inout` to an asynchronous function.
/// - For a property whose setter reports nothing, the code that changes it calls
///   `willChange(_:keyPath:)` before the change, and `didChange(_:keyPath:)` after it.
///
/// Safe to use from any thread. The registrar allocates its tables when the first observation
/// begins, and ends the observations in the deinit of its object. A change of an object without
/// observers costs two loads. When `withObservationTracking` or `Observations` has tracked the
/// object, a change also has the cost of the standard registrar.
public struct KVORegistrar: ~Copyable, Sendable {
  @usableFromInline let uses = PropertyUses()
  let standard = ObservationRegistrar()
  private let table = LazyReference<PropertyTable>()

  /// Creates a registrar for one object, to be stored in a `let` of it.
  public init() {}

  deinit { table.load()?.end() }

  // MARK: Reading

  /// Reports that a property of an `Observable` is read.
  ///
  /// Call this in its getter, before the value is returned, if the value is stored, in the object
  /// or elsewhere. A property that is computed from observed properties need not report, because
  /// they do, and a getter that reports itself should read no observed properties.
  @inlinable
  public func access<Subject: Observable & AnyObject, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if Scope.isAnyOpen, collect(subject, keyPath) { return }
    track(subject, keyPath)
  }

  @usableFromInline
  func track<Subject: Observable, Member>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Member>
  ) {
    if uses.areTracked(with: standard) { standard.access(subject, keyPath: keyPath) }
  }

  /// - Returns: Whether an evaluation reads. Code around it that is tracked does not read then.
  @usableFromInline
  func collect(_ subject: AnyObject, _ keyPath: AnyKeyPath) -> Bool {
    guard let collector = Scope.current?.collector else { return false }
    if !collector.takeExpected(subject, keyPath) { collector.add(property(keyPath, of: subject)) }
    return true
  }

  /// The property, which is created if it is new.
  func property(_ keyPath: AnyKeyPath, of subject: AnyObject) -> ObservedProperty {
    let table = table.load() ?? table.storeIfNil(PropertyTable(of: subject))
    uses.note(PropertyUses.observed)
    return table.property(keyPath)
  }

  // MARK: Changing

  /// Runs `mutation`, and reports it as a change of a property of an `Observable`.
  ///
  /// Call this in its setter. For a change that is not made in a closure, use
  /// ``willSet(_:keyPath:)`` and ``didSet(_:keyPath:)``. Outside a transaction, the observers are
  /// called before this returns, on the calling thread.
  ///
  /// - Parameters:
  ///   - subject: The object.
  ///   - keyPath: The property.
  ///   - mutation: Changes the value. If it throws, the change is reported too.
  /// - Returns: The result of `mutation`.
  @inlinable
  public func withMutation<Subject: Observable & AnyObject, Member, Result>(
    of subject: Subject, keyPath: KeyPath<Subject, Member>, _ mutation: () throws -> Result
  ) rethrows -> Result {
    if uses.isNone {
      // The mutation may be where the first observation begins.
      defer { didSet(subject, keyPath: keyPath) }
      return try mutation()
    }
    let change = reportWillChange(subject, keyPath, isWhole: true)
    // Inlined into the setter, where the key path is known to the compiler.
    let old = change.needsOld ? subject[keyPath: keyPath] : nil
    defer {
      if reportDidChange(subject, keyPath, change) {
        change.report(old, subject[keyPath: keyPath])
      }
    }
    return try mutation()
  }

  /// Reports that this thread is about to change a property of an `Observable`.
  ///
  /// Call this in an accessor that changes the property in place, such as `_modify`. A call to
  /// ``didSet(_:keyPath:)`` on the same thread must follow. A setter uses
  /// `withMutation(of:keyPath:_:)`, code outside the accessors `willChange(_:keyPath:)`.
  @inlinable
  public func willSet<Subject: Observable & AnyObject, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if !uses.isNone { _ = reportWillChange(subject, keyPath, isWhole: false) }
  }

  /// Reports that this thread has changed a property of an `Observable`.
  ///
  /// Call this after ``willSet(_:keyPath:)``. Outside a transaction, the observers are called before
  /// this returns, on the calling thread.
  @inlinable
  public func didSet<Subject: Observable & AnyObject, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if !uses.isNone { _ = reportDidChange(subject, keyPath, OpenChange()) }
  }

  @usableFromInline
  func reportWillChange<Subject: Observable, Member>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Member>, isWhole: Bool
  ) -> OpenChange {
    let isTracked = uses.include(PropertyUses.tracked)
    if isTracked { standard.willSet(subject, keyPath: keyPath) }
    guard let property = property(keyPath) else { return OpenChange() }
    // To hand over values, the setter reads them, which must not be tracked by code around it.
    let isSet = isWhole && !isTracked && !TrackingProbe.isTracked(with: standard)
    return OpenChange(property, property.willChange(isSet: isSet))
  }

  /// How often the table of properties has changed.
  var changeCount: Int { table.load()?.changeCount ?? 0 }

  /// The property, if it has been observed.
  func property(_ keyPath: AnyKeyPath) -> ObservedProperty? { table.load()?.known(keyPath) }

  /// - Returns: Whether the caller hands over the values.
  @usableFromInline
  func reportDidChange<Subject: Observable & AnyObject, Member>(
    _ subject: Subject, _ keyPath: KeyPath<Subject, Member>, _ change: OpenChange
  ) -> Bool {
    if uses.include(PropertyUses.tracked) { standard.didSet(subject, keyPath: keyPath) }
    let property = change.property ?? property(keyPath)
    return property?.didChange(change.receiver) ?? false
  }

  // MARK: Announcements by hand

  /// Announces that a property of an `Observable` is about to change.
  ///
  /// It is for a property that does not report its changes, and for code outside its accessors. A
  /// call to `didChange(_:keyPath:)` in the same isolation must follow. Changes of the property in
  /// between are part of the announced one.
  public func willChange<Subject: Observable & AnyObject, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    _ = property(keyPath, of: subject)
    willSet(subject, keyPath: keyPath)
  }

  /// Announces that a property of an `Observable` has changed; without an earlier
  /// `willChange(_:keyPath:)` it has no effect.
  public func didChange<Subject: Observable & AnyObject, Member>(
    _ subject: Subject, keyPath: KeyPath<Subject, Member>
  ) {
    if property(keyPath)?.isOpen == true { didSet(subject, keyPath: keyPath) }
  }
}
