/// The properties that changed, in the order of their first change.
///
/// Key paths may have arguments, whose `==` is foreign code. So none are compared where they are
/// added, which is done under locks: only the same objects are left out there, and equal ones in
/// ``all``.
struct ChangedPaths: Sendable {
  private static let scanLimit = 16

  private var first: KVOPath?
  private var others: [KVOPath]?
  /// The objects of `others`, once there are too many to look through.
  private var known: Set<ObjectIdentifier>?

  init(_ path: KVOPath?) { first = path }

  /// The key paths, each once.
  var all: [KVOPath] {
    guard let first else { return [] }
    guard let others else { return [first] }
    var known: Set<KVOPath> = [first]
    return [first] + others.filter { known.insert($0).inserted }
  }

  mutating func add(_ path: KVOPath) {
    guard let first else { return self.first = path }
    if first.object == path.object || isKnown(path) { return }
    others = others ?? []
    others?.append(path)
    known?.insert(path.object)
  }

  mutating func add(_ later: ChangedPaths) {
    if let path = later.first { add(path) }
    for path in later.others ?? [] { add(path) }
  }

  /// Adds key paths whose first changes came before all the others.
  mutating func add(before earlier: ChangedPaths) {
    var all = earlier
    all.add(self)
    self = all
  }

  private mutating func isKnown(_ path: KVOPath) -> Bool {
    guard let others else { return false }
    if others.count < Self.scanLimit { return others.contains { $0.object == path.object } }
    if known == nil { known = Set(others.map(\.object)) }
    return known?.contains(path.object) == true
  }
}
