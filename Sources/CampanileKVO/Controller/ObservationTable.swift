internal import Campanile

/// What a controller observes, by object.
///
/// Key paths may have arguments, whose `==` is foreign code. So nothing here, under the
/// controller's lock, compares them: who asks about one takes ``entries(of:)``, compares, and comes
/// back with the numbers of those that it means.
struct ObservationTable {
  struct Entry {
    /// Told apart from a later object at the same address.
    let object: SubjectReference<AnyObject>
    let path: KVOPath
    let registration: Registration
    let text: @Sendable () -> String
    /// Counts the entries of a table.
    var number = 0

    private var living: AnyObject? { object.current ?? nil }

    /// Whether the observation has not ended.
    ///
    /// To be asked outside the lock: it may come to hold the object last.
    var isLive: Bool { registration.isActive && living != nil }

    /// Whether it is an observation of this object, not of one that had its address before.
    ///
    /// What is held meanwhile is this object, or nothing.
    func isLive(of object: AnyObject) -> Bool { living === object && registration.isActive }
  }

  /// The numbers of some of the entries of an object.
  struct Numbers {
    /// Ascending, as the entries are.
    private var all: [Int] = []

    /// The numbers of those entries that `isIncluded` holds for.
    init(of entries: [Entry], where isIncluded: (Entry) -> Bool) {
      for entry in entries where isIncluded(entry) { all.append(entry.number) }
    }

    var isEmpty: Bool { all.isEmpty }

    func contains(_ number: Int) -> Bool {
      var rest = all[...]
      while let first = rest.first, first <= number {
        let middle = rest.startIndex + rest.count / 2
        if rest[middle] == number || first == number { return true }
        rest = rest[middle] < number ? rest[(middle + 1)...] : rest[..<middle]
      }
      return false
    }
  }

  /// The entries of each object, oldest first: few, mostly one.
  private var entries: [ObjectIdentifier: [Entry]] = [:]
  private var count = 0
  private var nextNumber = 0
  private var purgeThreshold = 32

  enum AddAction {
    /// The entry is in its place, and these, which may have ended before, are not any more.
    case added(removed: [Entry])
    case refused
    /// There are newer entries of the object, which are to be looked at first.
    case outdated
  }

  /// Decides about an entry of `object`, and puts it in its place.
  ///
  /// - Parameters:
  ///   - same: The entries of its key path.
  ///   - newest: The newest entry of the object that has been looked at, if there was one.
  mutating func add(
    _ entry: Entry, of object: AnyObject, _ policy: KVOPolicy, same: Numbers, newest: Int?
  ) -> AddAction {
    let id = ObjectIdentifier(object)
    if let last = entries[id]?.last?.number, last > newest ?? -1 {
      return .outdated
    }
    var entry = entry
    entry.number = nextNumber
    nextNumber += 1
    guard let known = entries.removeValue(forKey: id) else {
      entries[id] = [entry]
      count += 1
      return .added(removed: [])
    }
    let isObserved = known.contains { same.contains($0.number) && $0.isLive(of: object) }
    if isObserved && policy == .ignore {
      entries[id] = known
      return .refused
    }
    let isToStay = { (other: Entry) in
      !same.contains(other.number) || policy == .append && other.isLive(of: object)
    }
    let removed = known.filter { !isToStay($0) }
    entries[id] = (removed.isEmpty ? known : known.filter(isToStay)) + [entry]
    count += 1 - removed.count
    return .added(removed: removed)
  }

  /// Takes out the entries of an object with these numbers.
  mutating func remove(_ object: ObjectIdentifier, _ numbers: Numbers) -> [Entry] {
    guard !numbers.isEmpty, let known = entries.removeValue(forKey: object) else { return [] }
    let removed = known.filter { numbers.contains($0.number) }
    if removed.count < known.count {
      entries[object] = known.filter { !numbers.contains($0.number) }
    }
    count -= removed.count
    return removed
  }

  mutating func remove(_ object: ObjectIdentifier) -> [Entry] {
    let removed = entries.removeValue(forKey: object) ?? []
    count -= removed.count
    return removed
  }

  mutating func removeAll() -> [Entry] {
    defer {
      entries = [:]
      count = 0
    }
    return all
  }

  // MARK: What has ended by itself

  /// All entries, once in a while: those that have ended are to be forgotten.
  mutating func suspects() -> [Entry] {
    if count < purgeThreshold { return [] }
    purgeThreshold = max(32, count * 2)
    return all
  }

  /// Takes out the entries with these numbers.
  mutating func forget(_ numbers: Set<Int>) -> [Entry] {
    var forgotten: [Entry] = []
    for (id, known) in entries where known.contains(where: { numbers.contains($0.number) }) {
      forgotten += known.filter { numbers.contains($0.number) }
      let kept = known.filter { !numbers.contains($0.number) }
      entries[id] = kept.isEmpty ? nil : kept
    }
    count -= forgotten.count
    purgeThreshold = max(32, count * 2)
    return forgotten
  }

  // MARK: Looking

  /// The entries of an object, whether or not they have ended, oldest first.
  func entries(of object: ObjectIdentifier) -> [Entry] { entries[object] ?? [] }

  /// The entries, whether or not they have ended, in no order.
  var all: [Entry] { entries.values.flatMap { $0 } }
}
