import Campanile
import Synchronization

/// The properties of one object that have been observed.
///
/// Evaluations keep these properties and not the object. So the end of the object can be noticed,
/// and unlinking needs nothing of a dead object. Properties that nothing follows any more are removed
/// when their number has doubled.
final class PropertyTable: Sendable {
  /// A key path that was looked up, found or not.
  private struct Familiar {
    let keyPath: KeyPathIdentity
    /// The key path as an object: comparing it retains nothing.
    let object: ObjectIdentifier
    let property: ObservedProperty?
  }

  /// The properties whose key paths have one hash, at one time.
  private struct Candidates {
    let hash: Int
    var properties: [ObservedProperty] = []
    var version = 0

    /// The property of a key path.
    func first(of keyPath: KeyPathIdentity) -> ObservedProperty? {
      properties.first { $0.path.identity == keyPath }
    }
  }

  /// Protected by the lock.
  private struct State {
    private static let familiarLimit = 8
    private static let purgeMinimum = 32

    /// The properties by the hashes of their key paths.
    ///
    /// Key paths may have arguments, whose `==` and `hash(into:)` are foreign code. So they are
    /// hashed and compared outside the lock.
    private var properties: [Int: [ObservedProperty]] = [:]
    /// How often the properties have changed.
    private var version = 0
    private var count = 0
    private var purgeThreshold = purgeMinimum
    /// The first few key paths that were looked up, found or not.
    ///
    /// A key path literal of a class that is not generic is one object. Finding it by identity
    /// takes a fraction of the time of hashing it.
    private var familiar: [Familiar] = []

    var all: [ObservedProperty] { Array(properties.values.joined()) }

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

    func look(for candidates: inout Candidates) {
      candidates.properties = properties[candidates.hash] ?? []
      candidates.version = version
    }

    /// Remembers the result of a look-up.
    mutating func remember(
      _ keyPath: KeyPathIdentity, _ property: ObservedProperty?, among candidates: Candidates
    ) {
      if familiar.count < Self.familiarLimit, candidates.version == version {
        familiar.append(Familiar(keyPath: keyPath, object: keyPath.object, property: property))
      }
    }

    /// Adds a property, unless another thread has made a change since the look-up.
    ///
    /// - Parameter stale: On return, the remembered look-ups, which the caller releases.
    mutating func add(
      _ property: ObservedProperty, to candidates: Candidates, _ stale: inout [Familiar]
    ) -> Bool {
      if candidates.version != version { return false }
      properties[candidates.hash, default: []].append(property)
      count += 1
      version += 1
      swap(&familiar, &stale)
      return true
    }

    /// All properties, if their number has doubled since the last purge.
    mutating func suspects() -> [ObservedProperty] {
      if count < purgeThreshold { return [] }
      // No other thread begins a purge meanwhile.
      purgeThreshold = .max
      return all
    }

    /// Removes the properties to which nothing but the table refers.
    ///
    /// A property that is being followed, or looked at by a setter, is also referred to by that code.
    ///
    /// - Returns: The removed properties, which the caller releases.
    mutating func purge() -> [ObservedProperty] {
      var removed: [ObservedProperty] = []
      for hash in Array(properties.keys) {
        var same = properties.removeValue(forKey: hash) ?? []
        for index in same.indices.reversed() where isKnownUniquelyReferenced(&same[index]) {
          removed.append(same.remove(at: index))
        }
        if !same.isEmpty { properties[hash] = same }
      }
      count -= removed.count
      version += 1
      purgeThreshold = max(Self.purgeMinimum, count * 2)
      return removed
    }
  }

  let subject: ObservedProperty.Subject
  private let state = Locked(State())
  private let additions = Atomic<Int>(0)

  /// The number of properties that have been added.
  var additionCount: Int { additions.load(ordering: .acquiring) }

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
    let candidates = candidates(keyPath.hashValue)
    let property = candidates.first(of: keyPath)
    state.withLock { $0.remember(keyPath, property, among: candidates) }
    return property
  }

  private func candidates(_ hash: Int) -> Candidates {
    var candidates = Candidates(hash: hash)
    state.withLock { $0.look(for: &candidates) }
    return candidates
  }

  /// The property that the getter of `keyPath` reports.
  ///
  /// Creates it if it is new.
  func property(_ keyPath: AnyKeyPath) -> ObservedProperty {
    // Most properties exist already.
    if let known = known(keyPath) { return known }
    let key = KeyPathIdentity(keyPath)
    let hash = key.hashValue
    var stale: [Familiar] = []
    while true {
      let candidates = candidates(hash)
      if let known = candidates.first(of: key) { return known }
      let property = ObservedProperty(keyPath, of: subject)
      let isAdded = state.withLock { state in
        let isAdded = state.add(property, to: candidates, &stale)
        // Counted before another thread can find the property.
        if isAdded { additions.wrappingAdd(1, ordering: .releasing) }
        return isAdded
      }
      if isAdded {
        stale = []
        purge()
        return property
      }
    }
  }

  private func purge() {
    var suspects = state.withLock { $0.suspects() }
    if suspects.isEmpty { return }
    for property in suspects { property.releaseOwn() }
    suspects = []
    // Key paths may have arguments, whose deinits are foreign code.
    let removed = state.withLock { $0.purge() }
    withExtendedLifetime(removed) {}
  }

  /// Ends the observations of the object, in the object's deinit.
  func end() {
    subject.end()
    for property in state.withLock({ $0.all }) { property.end() }
  }
}
