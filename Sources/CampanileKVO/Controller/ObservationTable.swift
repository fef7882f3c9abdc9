internal import Campanile

/// What a controller observes, by object and key path.
struct ObservationTable {
  struct Entry {
    /// Told apart from a later object at the same address.
    weak let object: AnyObject?
    let path: KVOPath
    let registration: Registration
    let text: () -> String
    /// Counts the entries of a table.
    var number = 0

    /// Whether the observation has not ended.
    var isLive: Bool { object != nil && registration.isActive }
  }

  private var entries: [ObjectIdentifier: [KVOPath: [Entry]]] = [:]
  private var count = 0
  private var nextNumber = 0
  private var purgeThreshold = 32

  enum AddAction {
    /// The entry is in its place, and these are not any more.
    case added(replaced: [Entry])
    case refused
  }

  /// Decides about an entry, and puts it in its place.
  mutating func add(_ entry: Entry, _ policy: KVOPolicy) -> AddAction {
    guard let object = entry.object else { return .refused }
    purge()
    let id = ObjectIdentifier(object)
    let live = live(object, entry.path)
    var kept = live
    switch policy {
    case .ignore where !live.isEmpty: return .refused
    case .ignore, .append: break
    case .replace: kept = []
    }
    var entry = entry
    entry.number = nextNumber
    nextNumber += 1
    count += kept.count + 1 - (entries[id]?[entry.path]?.count ?? 0)
    entries[id, default: [:]][entry.path] = kept + [entry]
    return .added(replaced: policy == .replace ? live : [])
  }

  mutating func remove(_ object: ObjectIdentifier, _ path: KVOPath) -> [Entry] {
    let removed = entries[object]?.removeValue(forKey: path) ?? []
    if entries[object]?.isEmpty == true { entries[object] = nil }
    count -= removed.count
    return removed
  }

  mutating func remove(_ object: ObjectIdentifier) -> [Entry] {
    let removed = entries.removeValue(forKey: object)?.values.flatMap { $0 } ?? []
    count -= removed.count
    return removed
  }

  mutating func removeAll() -> [Entry] {
    defer {
      entries = [:]
      count = 0
    }
    return entries.values.flatMap { $0.values.flatMap { $0 } }
  }

  /// Forgets what has ended by itself, once in a while.
  private mutating func purge() {
    guard count >= purgeThreshold else { return }
    entries = entries.compactMapValues { paths in
      let live = paths.compactMapValues { entries in
        let live = entries.filter(\.isLive)
        return live.isEmpty ? nil : live
      }
      return live.isEmpty ? nil : live
    }
    count = entries.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } }
    purgeThreshold = max(32, count * 2)
  }

  /// The live entries of one key path, oldest first.
  func live(_ object: AnyObject, _ path: KVOPath) -> [Entry] {
    let found = entries[ObjectIdentifier(object)]?[path] ?? []
    return found.filter { $0.object === object && $0.registration.isActive }
  }

  /// The live entries, oldest first.
  var live: [Entry] {
    entries.values.flatMap { $0.values.flatMap { $0.filter(\.isLive) } }
      .sorted { $0.number < $1.number }
  }
}
