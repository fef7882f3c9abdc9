internal import Campanile

/// What a controller observes, by object and key path.
///
/// Key paths may have arguments, whose `==` and `hash(into:)` are foreign code. The table neither
/// compares nor hashes them, since it is used under the controller's lock: a key has the hash of its
/// path, and whoever asks for one path compares what is stored under its key, outside the lock.
struct ObservationTable {
  /// An object and the hash of a key path.
  struct Key {
    let object: ObjectIdentifier
    let pathHash: Int

    init(_ object: AnyObject, _ path: KVOPath) {
      self.object = ObjectIdentifier(object)
      pathHash = path.hashValue
    }
  }

  struct Entry {
    /// Told apart from a later object at the same address.
    let object: OwnerReference<AnyObject>
    let path: KVOPath
    let registration: Registration
    let text: @Sendable () -> String
    /// Counts the entries of a table.
    fileprivate(set) var number = 0

    private var living: AnyObject? { object.object }

    /// Whether the observation has not ended.
    ///
    /// Ask outside the lock: the answer may release the object.
    var isLive: Bool { registration.isActive && living != nil }

    /// Whether it is a live observation of this object, and not of an earlier one at its address.
    func isLive(of object: AnyObject) -> Bool { living === object && registration.isActive }
  }

  /// The entries of each object, by the hashes of their key paths, oldest first.
  private var objects: [ObjectIdentifier: [Int: [Entry]]] = [:]
  private var count = 0 {
    // So that what has ended is at most as much as what there is.
    didSet { purgeThreshold = max(32, min(purgeThreshold, count * 2)) }
  }
  private var nextNumber = 0
  private var purgeThreshold = 32

  // MARK: Looking

  /// The entries under a key, whether or not they have ended, oldest first.
  func entries(for key: Key) -> [Entry] { objects[key.object]?[key.pathHash] ?? [] }

  /// The number of the newest entry under a key.
  func newest(for key: Key) -> Int? { objects[key.object]?[key.pathHash]?.last?.number }

  /// The entries, whether or not they have ended, in no order.
  var all: [Entry] { objects.values.flatMap { $0.values.joined() } }

  // MARK: Changing

  /// Adds an entry, and takes out those with the numbers in `replaced`.
  mutating func add(_ entry: Entry, _ key: Key, insteadOf replaced: Set<Int> = []) {
    if !replaced.isEmpty { remove(replaced, for: key) }
    var entry = entry
    entry.number = nextNumber
    nextNumber += 1
    objects[key.object, default: [:]][key.pathHash, default: []].append(entry)
    count += 1
  }

  /// Takes out the entries under a key that have these numbers.
  mutating func remove(_ numbers: Set<Int>, for key: Key) {
    let kept = entries(for: key).filter { !numbers.contains($0.number) }
    count -= entries(for: key).count - kept.count
    objects[key.object]?[key.pathHash] = kept.isEmpty ? nil : kept
    if objects[key.object]?.isEmpty == true { objects[key.object] = nil }
  }

  /// Takes out the entries of an object.
  mutating func remove(_ object: ObjectIdentifier) -> [Entry] {
    let removed = objects.removeValue(forKey: object).map { Array($0.values.joined()) } ?? []
    count -= removed.count
    return removed
  }

  mutating func removeAll() -> [Entry] {
    defer {
      objects = [:]
      count = 0
    }
    return all
  }

  // MARK: What has ended by itself

  /// All entries, once in a while: those that have ended are to be forgotten.
  ///
  /// The table has doubled since it was last asked, so that the cost of an addition stays constant.
  mutating func suspects() -> [Entry] {
    if count < purgeThreshold { return [] }
    purgeThreshold = count * 2
    return all
  }

  /// Takes out the entries with these numbers.
  mutating func forget(_ numbers: Set<Int>) {
    for (object, paths) in objects {
      for (hash, entries) in paths where entries.contains(where: { numbers.contains($0.number) }) {
        let kept = entries.filter { !numbers.contains($0.number) }
        count -= entries.count - kept.count
        objects[object]?[hash] = kept.isEmpty ? nil : kept
      }
      if objects[object]?.isEmpty == true { objects[object] = nil }
    }
    purgeThreshold = max(32, count * 2)
  }
}
