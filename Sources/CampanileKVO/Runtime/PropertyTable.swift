import Campanile
import Synchronization

/// The properties of one object that have been asked about.
///
/// Those who follow hold this and not the object, so that its end can be noticed, and nothing of a
/// dead object is needed to stop following it.
final class PropertyTable: Sendable {
  /// The properties by key path.
  ///
  /// Key paths may have arguments, and those a `==` and `hash(into:)` that are foreign code. So the
  /// dictionary is looked into outside the lock, and replaced by a larger one.
  private typealias Properties = [KeyPathIdentity: ObservedProperty]
  /// Key paths that were looked up, found or not.
  private typealias Familiar = [(keyPath: KeyPathIdentity, property: ObservedProperty?)]

  /// Protected by the lock.
  private struct State {
    private static let familiarLimit = 8

    /// Only ever replaced by one with more in it.
    var properties: Properties = [:]
    /// The first few key paths that were looked up, found or not.
    ///
    /// A key path literal of a class that is not generic is one object: it is known by identity,
    /// which takes a fraction of the time of hashing it.
    private var familiar: Familiar = []

    /// Finds a key path by identity.
    ///
    /// - Returns: whether it is familiar.
    func find(_ keyPath: KeyPathIdentity, _ property: inout ObservedProperty?) -> Bool {
      for index in familiar.indices where familiar[index].keyPath.object == keyPath.object {
        property = familiar[index].property
        return true
      }
      return false
    }

    /// Remembers what was found for a key path when there were `count` properties.
    mutating func remember(_ keyPath: KeyPathIdentity, _ property: ObservedProperty?, count: Int) {
      if familiar.count < Self.familiarLimit, count == properties.count {
        familiar.append((keyPath, property))
      }
    }

    /// Exchanges the properties for more of them, if nobody has done so meanwhile.
    ///
    /// - Parameters:
    ///   - more: The properties there are to be; after it, those that were, to be released.
    ///   - stale: After it, what was looked up among those.
    mutating func exchange(_ more: inout Properties, _ stale: inout Familiar) -> Bool {
      guard more.count == properties.count + 1 else { return false }
      swap(&properties, &more)
      swap(&familiar, &stale)
      return true
    }
  }

  let subject: ObservedProperty.Subject
  private let state = Locked(State())
  private let propertyCount = Atomic<Int>(0)

  /// How many properties there are.
  var count: Int { propertyCount.load(ordering: .acquiring) }

  init(of subject: AnyObject) {
    self.subject = ObservedProperty.Subject(ObjectIdentifier(subject))
  }

  /// The property that the getter of `keyPath` reports, if it has been asked about.
  func known(_ keyPath: AnyKeyPath) -> ObservedProperty? {
    var property: ObservedProperty?
    var isFamiliar = false
    let key = KeyPathIdentity(keyPath)
    state.withLock { isFamiliar = $0.find(key, &property) }
    return isFamiliar ? property : look(key)
  }

  private func look(_ keyPath: KeyPathIdentity) -> ObservedProperty? {
    let properties = state.withLock { $0.properties }
    let property = properties[keyPath]
    state.withLock { $0.remember(keyPath, property, count: properties.count) }
    return property
  }

  /// The property that the getter of `keyPath` reports.
  func property(_ keyPath: AnyKeyPath) -> ObservedProperty {
    // Most are known.
    if let known = known(keyPath) { return known }
    let key = KeyPathIdentity(keyPath)
    var stale: Familiar = []
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

  /// Ends what follows the object, in the object's deinit.
  func end() {
    subject.end()
    for property in state.withLock({ $0.properties }).values { property.end() }
  }
}
