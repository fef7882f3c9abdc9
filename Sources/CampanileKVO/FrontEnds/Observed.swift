internal import Campanile
public import Observation
public import Synchronization

/// A stored property that can be observed by key path: the front end of one annotation per property.
///
/// ```swift
/// final class Player: Observable {
///   @Observed var title = ""
///   @Observed var tracks: [Track] = []
/// }
/// ```
///
/// The class conforms to the standard `Observable` and needs no macro; `withObservationTracking` and
/// `Observations` work with it. Setting an equal value is a change like any other.
///
/// Reads and changes are in the isolation of the object. A property allocates a small cell with the
/// object, more when it is first read, and its list when it is first observed. A set that nobody
/// observes costs a load, and after the first read what the standard registrar costs besides. The
/// observations end with the object.
@propertyWrapper
public struct Observed<Value> {
  @usableFromInline var value: Value
  @usableFromInline let cell = ObservedCell()

  /// Creates the property with its first value.
  public init(wrappedValue: Value) { value = wrappedValue }

  /// Only properties of classes can be observed.
  @available(*, unavailable, message: "'@Observed' is for properties of classes")
  public var wrappedValue: Value {
    get { fatalError("Only properties of classes can be observed") }
    set { fatalError("Only properties of classes can be observed") }
  }

  /// Reads and changes the property of an object; what the compiler calls.
  @inlinable
  public static subscript<Object: Observable & AnyObject>(
    _enclosingInstance object: Object, wrapped keyPath: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Self>
  ) -> Value {
    get {
      object[keyPath: storage].cell.access(object, keyPath)
      return object[keyPath: storage].value
    }
    set {
      if object[keyPath: storage].isQuiet {
        object[keyPath: storage].value = newValue
      } else {
        let cell = object[keyPath: storage].cell
        cell.willSet(object, keyPath)
        object[keyPath: storage].value = newValue
        cell.didSet(object, keyPath)
      }
    }
    _modify {
      if object[keyPath: storage].isQuiet {
        yield &object[keyPath: storage].value
      } else {
        let cell = object[keyPath: storage].cell
        cell.willSet(object, keyPath)
        defer { cell.didSet(object, keyPath) }
        yield &object[keyPath: storage].value
      }
    }
  }

  @inlinable
  var isQuiet: Bool { cell.isQuiet }
}

/// What one observed property has besides its value.
@usableFromInline
final class ObservedCell: Sendable {
  /// What has been done with the property: read, observed.
  @usableFromInline let uses = Atomic<UInt8>(0)
  private let standard = LazyReference<Standard>()
  private let property = LazyReference<ObservedProperty>()

  private static let wasRead: UInt8 = 1
  private static let wasObserved: UInt8 = 2

  /// The standard library's registrar, once the property has been read.
  private final class Standard: Sendable {
    let registrar = ObservationRegistrar()
  }

  @usableFromInline
  init() {}

  deinit {
    guard let property = property.load() else { return }
    property.subject.end()
    property.events.finish()
  }

  /// Whether nobody can have learned of the property, and no transaction wants its name.
  @inlinable
  var isQuiet: Bool {
    uses.load(ordering: .relaxed) == 0 && OpenScopes.count.load(ordering: .relaxed) == 0
  }

  private func has(_ use: UInt8) -> Bool { uses.load(ordering: .relaxed) & use != 0 }

  @usableFromInline
  func access<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) {
    let registrar = (standard.load() ?? standard.storeIfNil(Standard())).registrar
    if !has(Self.wasRead) { uses.bitwiseOr(Self.wasRead, ordering: .sequentiallyConsistent) }
    registrar.access(object, keyPath: keyPath)
    guard Scope.isAnyOpen, let collector = Scope.current.collector else { return }
    collector.add(observed(keyPath, of: object))
  }

  private func observed(_ keyPath: AnyKeyPath, of object: AnyObject) -> ObservedProperty {
    if let property = property.load() { return property }
    let subject = ObservedProperty.Subject(ObjectIdentifier(object))
    let property = property.storeIfNil(ObservedProperty(keyPath, of: subject, SourceRegistry()))
    uses.bitwiseOr(Self.wasObserved, ordering: .sequentiallyConsistent)
    return property
  }

  @usableFromInline
  func willSet<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) {
    if has(Self.wasRead) { standard.load()?.registrar.willSet(object, keyPath: keyPath) }
    if has(Self.wasObserved) { property.load()?.willChange() }
  }

  @usableFromInline
  func didSet<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>
  ) {
    if has(Self.wasRead) { standard.load()?.registrar.didSet(object, keyPath: keyPath) }
    if let property = property.load() {
      property.didChange()
    } else if Scope.isAnyOpen {
      Scope.current.transaction?.note(KVOPath(keyPath), of: ObjectIdentifier(object))
    }
  }
}
