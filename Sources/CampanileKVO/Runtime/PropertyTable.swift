import Campanile
import Synchronization

/// The properties of one object that have been observed.
///
/// Evaluations keep these properties and not the object. So the end of the object can be noticed,
/// and unlinking needs nothing of a dead object. Properties that nothing follows any more are removed
/// when their number has doubled.
///
/// Key paths may have arguments, whose `==`, `hash(into:)` and deinits are foreign code. So key paths
/// are hashed, compared and released outside the lock.
final class PropertyTable: Sendable {
  /// A key path that was looked up, found or not.
  private struct Familiar {
    let keyPath: KeyPathIdentity
    /// The key path as an object: comparing it retains nothing.
    let object: ObjectIdentifier
    let property: ObservedProperty?
  }

  private static let familiarLimit = 8
  private static let purgeMinimum = 32

  /// Protected by the lock.
  private struct State {
    /// The properties by the hashes of their key paths.
    var properties: [Int: [ObservedProperty]] = [:]
    var count = 0
    var purgeThreshold = purgeMinimum
    /// The first few key paths that were looked up since the last change.
    ///
    /// A key path literal of a class that is not generic is one object. Finding it by identity
    /// takes a fraction of the time of hashing it.
    var familiar: [Familiar] = []

    var all: [ObservedProperty] { Array(properties.values.joined()) }

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
    /// - Returns: The removed properties.
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
      purgeThreshold = max(purgeMinimum, count * 2)
      return removed
    }
  }

  let subject: ObservedProperty.Subject
  private let state = Locked(State())
  private let changes = Atomic<Int>(0)

  /// How often properties have been added or removed.
  ///
  /// Raised under the lock.
  var changeCount: Int { changes.load(ordering: .acquiring) }

  init(of subject: AnyObject) {
    self.subject = ObservedProperty.Subject(ObjectIdentifier(subject))
  }

  /// The property that the getter of `keyPath` reports, if it has been observed.
  func known(_ keyPath: AnyKeyPath) -> ObservedProperty? {
    var property: ObservedProperty?
    var isFamiliar = false
    let object = ObjectIdentifier(keyPath)
    state.withLock { state in
      for index in state.familiar.indices where state.familiar[index].object == object {
        property = state.familiar[index].property
        isFamiliar = true
        return
      }
    }
    if isFamiliar { return property }
    let key = KeyPathIdentity(keyPath)
    let (found, count) = find(key, hash: key.hashValue)
    state.withLock { state in
      if state.familiar.count < Self.familiarLimit && changeCount == count {
        state.familiar.append(Familiar(keyPath: key, object: object, property: found))
      }
    }
    return found
  }

  /// Looks for a property by its hash.
  ///
  /// - Returns: The property, if there is one, and the number of changes of the table at that time.
  private func find(_ key: KeyPathIdentity, hash: Int) -> (ObservedProperty?, changeCount: Int) {
    var same: [ObservedProperty] = []
    var count = 0
    state.withLock { state in
      same = state.properties[hash] ?? []
      count = changeCount
    }
    return (same.first { $0.path.identity == key }, count)
  }

  /// The property that the getter of `keyPath` reports.
  ///
  /// Creates it if it is new.
  func property(_ keyPath: AnyKeyPath) -> ObservedProperty {
    // Most properties exist already.
    if let known = known(keyPath) { return known }
    let key = KeyPathIdentity(keyPath)
    let hash = key.hashValue
    while true {
      let (known, count) = find(key, hash: hash)
      if let known { return known }
      let property = ObservedProperty(keyPath, of: subject)
      if add(property, hash, after: count) {
        purge()
        return property
      }
    }
  }

  /// Adds a property, unless the table has changed since the look-up.
  private func add(_ property: ObservedProperty, _ hash: Int, after count: Int) -> Bool {
    // Released outside the lock.
    var stale: [Familiar] = []
    return state.withLock { state in
      if changeCount != count { return false }
      // Counted before another thread can find the property.
      changes.wrappingAdd(1, ordering: .releasing)
      state.properties[hash, default: []].append(property)
      state.count += 1
      swap(&state.familiar, &stale)
      return true
    }
  }

  private func purge() {
    var suspects = state.withLock { $0.suspects() }
    if suspects.isEmpty { return }
    for property in suspects { property.releaseOwn() }
    suspects = []
    let removed = state.withLock { state in
      changes.wrappingAdd(1, ordering: .releasing)
      return state.purge()
    }
    withExtendedLifetime(removed) {}
  }

  /// Ends the observations of the object, in the object's deinit.
  func end() {
    subject.end()
    for property in state.withLock({ $0.all }) { property.end() }
  }
}
