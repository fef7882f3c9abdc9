import Campanile
import Synchronization

/// The properties of one object that have been observed.
///
/// Evaluations keep these properties and not the object. So the end of the object can be noticed,
/// and unlinking needs nothing of a dead object.
final class PropertyTable: Sendable {
  /// The properties by key path.
  ///
  /// Key paths may have arguments, whose `==` and `hash(into:)` are foreign code. So look-ups in
  /// the dictionary happen outside the lock, and additions replace it with a larger one.
  private typealias Properties = [KeyPathIdentity: ObservedProperty]

  /// A key path that was looked up, found or not.
  private struct Familiar {
    let keyPath: KeyPathIdentity
    /// The key path as an object: comparing it retains nothing.
    let object: ObjectIdentifier
    let property: ObservedProperty?
  }

  /// Protected by the lock.
  private struct State {
    private static let familiarLimit = 8

    /// Only ever replaced by a larger dictionary.
    var properties: Properties = [:]
    /// The first few key paths that were looked up, found or not.
    ///
    /// A key path literal of a class that is not generic is one object. Finding it by identity
    /// takes a fraction of the time of hashing it.
    private var familiar: [Familiar] = []

    /// Finds a key path by identity.
    ///
    /// - Returns: Whether it is familiar.
    func find(_ keyPath: ObjectIdentifier, _ property: inout ObservedProperty?) -> Bool {
      for index in familiar.indices where familiar[index].object == keyPath {
        property = familiar[index].property
        return true
      }
      return false
    }

    /// Remembers the result of a look-up among `count` properties.
    mutating func remember(_ keyPath: KeyPathIdentity, _ property: ObservedProperty?, count: Int) {
      if familiar.count < Self.familiarLimit, count == properties.count {
        familiar.append(Familiar(keyPath: keyPath, object: keyPath.object, property: property))
      }
    }

    /// Replaces the properties with a larger dictionary, unless another thread has done so
    /// meanwhile.
    ///
    /// - Parameters:
    ///   - more: The new properties. On return, the previous ones, which the caller releases.
    ///   - stale: On return, the remembered look-ups of the previous properties.
    mutating func exchange(_ more: inout Properties, _ stale: inout [Familiar]) -> Bool {
      guard more.count == properties.count + 1 else { return false }
      swap(&properties, &more)
      swap(&familiar, &stale)
      return true
    }
  }

  let subject: ObservedProperty.Subject
  private let state = Locked(State())
  private let propertyCount = Atomic<Int>(0)

  /// The number of properties.
  var count: Int { propertyCount.load(ordering: .acquiring) }

  init(of subject: AnyObject) {
    self.subject = ObservedProperty.Subject(ObjectIdentifier(subject))
  }

  /// The property that the getter of `keyPath` reports, if it has been observed.
  func known(_ keyPath: AnyKeyPath) -> ObservedProperty? {
    var property: ObservedProperty?
    var isFamiliar = false
    let object = ObjectIdentifier(keyPath)
    state.withLock { isFamiliar = $0.find(object, &property) }
    return isFamiliar ? property : look(KeyPathIdentity(keyPath))
  }

  private func look(_ keyPath: KeyPathIdentity) -> ObservedProperty? {
    let properties = state.withLock { $0.properties }
    let property = properties[keyPath]
    state.withLock { $0.remember(keyPath, property, count: properties.count) }
    return property
  }

  /// The property that the getter of `keyPath` reports.
  ///
  /// Creates it if it is new.
  func property(_ keyPath: AnyKeyPath) -> ObservedProperty {
    // Most properties exist already.
    if let known = known(keyPath) { return known }
    let key = KeyPathIdentity(keyPath)
    var stale: [Familiar] = []
    while true {
      var properties = state.withLock { $0.properties }
      if let known = properties[key] { return known }
      let property = ObservedProperty(keyPath, of: subject)
      properties[key] = property
      if state.withLock({ $0.exchange(&properties, &stale) }) {
        propertyCount.wrappingAdd(1, ordering: .releasing)
        return property
      }
    }
  }

  /// Ends the observations of the object, in the object's deinit.
  func end() {
    subject.end()
    for property in state.withLock({ $0.properties }).values { property.end() }
  }
}
