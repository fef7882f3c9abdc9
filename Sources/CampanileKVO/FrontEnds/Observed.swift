internal import Campanile
public import Observation

/// A stored property that can be observed by key path.
///
/// Annotate each observable property:
///
/// ```swift
/// final class Player: Observable {
///   @Observed var title = ""
///   @Observed var tracks: [Track] = []
/// }
/// ```
///
/// The class conforms to the standard `Observable` and needs no macro; `withObservationTracking`
/// and `Observations` work with it.
///
/// Setting an equal value is reported like any other change.
///
/// Read and change the property in the isolation of the object. The first read of a property writes
/// to the object, so several threads must not read at once. For an object behind a lock that admits
/// several readers, use a ``KVORegistrar``.
///
/// A property allocates when it is first read, and more when it is first observed. A set that
/// nobody observes costs three loads. Once the property has been tracked, by
/// `withObservationTracking` or by `Observations`, a set also costs what the standard registrar
/// costs.
///
/// While a property is changed in place, as by a mutating method, it can be neither read nor set.
/// As with other properties, that is a precondition failure, in release builds too. The
/// observations end with the object.
///
/// Assign the property, never its storage: an assignment to `_title` ends the observations, or
/// mixes those of two properties. Do not pass the property `inout` to an asynchronous function. The
/// change may then end on another thread than it began on, and later changes are not reported.
@propertyWrapper
public struct Observed<Value> {
  /// `nil` while the value is changed in place.
  @usableFromInline var value: Value?
  /// The observation state of the property, once it has been read.
  @usableFromInline var cell: ObservedCell?

  /// Creates the property with its first value.
  public init(wrappedValue: Value) { value = wrappedValue }

  /// Unavailable: only properties of classes can be observed.
  @available(*, unavailable, message: "'@Observed' is for properties of classes")
  public var wrappedValue: Value {
    get { fatalError("Only properties of classes can be observed") }
    set { fatalError("Only properties of classes can be observed") }
  }

  /// Reads and changes the property of an object.
  ///
  /// The compiler calls it.
  @inlinable
  public static subscript<Object: Observable & AnyObject>(
    _enclosingInstance object: Object, wrapped keyPath: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Self>
  ) -> Value {
    // Inlined into the property's accessors, where the key paths are known to the compiler.
    @inline(__always) get {
      let cell = object[keyPath: storage].cell ?? object[keyPath: storage].makeCell()
      cell.access(object, keyPath)
      return object[keyPath: storage].current
    }
    @inline(__always) set {
      if ObservedCell.isQuiet(object[keyPath: storage].cell) {
        object[keyPath: storage].replace(by: newValue)
      } else {
        let cell = object[keyPath: storage].cell
        let change = ObservedCell.willSet(cell, object, keyPath)
        let old = object[keyPath: storage].replace(by: newValue, keeping: change.needsOld)
        if ObservedCell.didSet(cell, object, keyPath, change) { change.report(old, newValue) }
      }
    }
    @inline(__always) _modify {
      let cell = object[keyPath: storage].cell
      let isQuiet = ObservedCell.isQuiet(cell)
      if !isQuiet { cell?.willModify(object, keyPath) }
      // Not yielded in place: the compiler optimizes a key path only where it is read or set.
      var value = object[keyPath: storage].take()
      defer {
        object[keyPath: storage].value = value
        if !isQuiet { _ = ObservedCell.didSet(cell, object, keyPath, OpenChange()) }
      }
      yield &value
    }
  }

  @inlinable
  var current: Value {
    guard let value else { endWhileChanging("used") }
    return value
  }

  /// Takes the value out, so that a change in place copies nothing.
  @inlinable
  mutating func take() -> Value {
    guard let taken = value.take() else { endWhileChanging("used") }
    return taken
  }

  /// Sets the value.
  @inlinable
  mutating func replace(by newValue: Value) {
    // A value that is set now would be overwritten when the change in place ends.
    if value == nil { endWhileChanging("set") }
    value = newValue
  }

  /// Sets the value.
  ///
  /// - Returns: The previous value, if it is to be kept. Otherwise it has been released.
  @inlinable
  mutating func replace(by newValue: Value, keeping isKept: Bool) -> Value? {
    let old = isKept ? value : nil
    replace(by: newValue)
    return old
  }

  @usableFromInline
  mutating func makeCell() -> ObservedCell {
    let made = ObservedCell()
    cell = made
    return made
  }
}

/// Ends the process, because a property is used or set while it is changed in place.
@usableFromInline
@inline(never)
func endWhileChanging(_ verb: StaticString) -> Never {
  misuse("An '@Observed' property is \(verb) while it is being changed in place")
}

/// The observation state of one property.
@usableFromInline
final class ObservedCell: Sendable {
  @usableFromInline let uses = PropertyUses()
  private let standard = ObservationRegistrar()
  private let property = LazyReference<ObservedProperty>()

  /// Whether nobody has ever tracked or observed the property.
  @inlinable
  static func isQuiet(_ cell: ObservedCell?) -> Bool {
    cell?.uses.isNone ?? true
  }

  deinit {
    guard let property = property.load() else { return }
    property.subject.end()
    property.end()
  }

  @usableFromInline
  func access<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) {
    if let collector = Scope.current?.collector {
      // Code around the evaluation that is tracked does not read then.
      collector.add(observed(keyPath, of: object))
    } else if uses.areTracked(with: standard) {
      standard.access(object, keyPath: keyPath)
    }
  }

  private func observed(_ keyPath: AnyKeyPath, of object: AnyObject) -> ObservedProperty {
    if let property = property.load() { return property }
    let subject = ObservedProperty.Subject(ObjectIdentifier(object))
    uses.note(PropertyUses.observed)
    return property.storeIfNil(ObservedProperty(keyPath, of: subject))
  }

  /// Begins a change by a setter that knows the values before and after.
  @usableFromInline
  static func willSet<Object: Observable & AnyObject, Value>(
    _ cell: ObservedCell?, _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) -> OpenChange {
    guard let cell else { return OpenChange() }
    let isTracked = cell.uses.include(PropertyUses.tracked)
    if isTracked { cell.standard.willSet(object, keyPath: keyPath) }
    guard let property = cell.property.load() else { return OpenChange() }
    return OpenChange(property, property.willChange(isSet: !isTracked))
  }

  @usableFromInline
  func willModify<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) {
    if uses.include(PropertyUses.tracked) { standard.willSet(object, keyPath: keyPath) }
    _ = property.load()?.willChange()
  }

  /// Ends a change.
  ///
  /// - Returns: Whether the caller hands over the values.
  @usableFromInline
  static func didSet<Object: Observable & AnyObject, Value>(
    _ cell: ObservedCell?, _ object: Object, _ keyPath: KeyPath<Object, Value>,
    _ change: OpenChange
  ) -> Bool {
    guard let cell else { return false }
    if cell.uses.include(PropertyUses.tracked) { cell.standard.didSet(object, keyPath: keyPath) }
    return cell.property.load()?.didChange(change.receiver) ?? false
  }
}
