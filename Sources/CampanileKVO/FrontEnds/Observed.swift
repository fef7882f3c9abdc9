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
/// and `Observations` work with it. Setting an equal value is reported like any other change. The
/// observations end with the object.
///
/// Read and change the property in the isolation of the object. The first read of a property writes
/// to the object, so several threads must not read at once. For an object behind a lock that admits
/// several readers, use a ``KVORegistrar``.
///
/// A property allocates when it is first read, and more when it is first observed. A set without an
/// observer costs three loads. When `withObservationTracking` or `Observations` has tracked the
/// property, a set also has the cost of the standard registrar.
///
/// While a property is changed in place, as by a mutating method, reading or setting it is a
/// precondition failure, in release builds too. Do not pass it `inout` to an asynchronous function,
/// because later changes are not reported if a change ends on another thread than it began on.
/// Assign the property, never its storage: an assignment to `_title` ends the observations, or
/// mixes those of two properties.
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

  /// Reads and changes the property of an object; the compiler calls it.
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
      if object[keyPath: storage].isQuiet {
        object[keyPath: storage].replace(by: newValue)
      } else if let cell = object[keyPath: storage].cell {
        let change = cell.willSet(object, keyPath, isWhole: true)
        let old = object[keyPath: storage].replace(by: newValue, keeping: change.needsOld)
        if cell.didSet(object, keyPath, change) { change.report(old, newValue) }
      }
    }
    @inline(__always) _modify {
      let cell = object[keyPath: storage].isQuiet ? nil : object[keyPath: storage].cell
      _ = cell?.willSet(object, keyPath, isWhole: false)
      // Not yielded in place: the compiler optimizes a key path only where it is read or set.
      var value = object[keyPath: storage].take()
      defer {
        object[keyPath: storage].value = value
        _ = cell?.didSet(object, keyPath, OpenChange())
      }
      yield &value
    }
  }

  /// Whether the property has never been tracked or observed.
  @inlinable
  var isQuiet: Bool { cell?.uses.isNone ?? true }

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

  /// Sets the value, and returns the previous one if it is to be kept.
  @inlinable
  @discardableResult
  mutating func replace(by newValue: Value, keeping isKept: Bool = false) -> Value? {
    // A value that is set now would be overwritten when the change in place ends.
    if value == nil { endWhileChanging("set") }
    let old = isKept ? value : nil
    value = newValue
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

  /// Begins a change.
  ///
  /// - Parameter isWhole: Whether the caller knows the values before and after.
  @usableFromInline
  func willSet<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, isWhole: Bool
  ) -> OpenChange {
    let isTracked = uses.include(PropertyUses.tracked)
    if isTracked { standard.willSet(object, keyPath: keyPath) }
    guard let property = property.load() else { return OpenChange() }
    return OpenChange(property, property.willChange(isSet: isWhole && !isTracked))
  }

  /// Ends a change.
  ///
  /// - Returns: Whether the caller hands over the values.
  @usableFromInline
  func didSet<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ change: OpenChange
  ) -> Bool {
    if uses.include(PropertyUses.tracked) { standard.didSet(object, keyPath: keyPath) }
    return property.load()?.didChange(change.receiver) ?? false
  }
}
