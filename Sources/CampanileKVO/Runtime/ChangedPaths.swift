/// The properties that changed, in the order of their first change.
///
/// Key paths may have arguments, whose `==` is foreign code.
///
/// Paths are added under locks, so `add` compares only the key path objects. Equal paths of
/// different objects are removed in ``all``.
@usableFromInline
struct ChangedPaths: Sendable {
  private var first: KVOPath?
  /// Empty, or one element.
  ///
  /// An array allocates when it is needed, and is copied by reference.
  private var others: [Others]?

  init(_ path: KVOPath?) { first = path }

  /// The key paths, without duplicates.
  var all: [KVOPath] {
    guard let first else { return [] }
    guard let others else { return [first] }
    var known: Set<KVOPath> = [first]
    return [first] + others[0].paths.filter { known.insert($0).inserted }
  }

  mutating func add(_ path: KVOPath) {
    guard let first else { return self.first = path }
    if first.object == path.object { return }
    if others == nil { others = [Others()] }
    others?[0].add(path)
  }

  mutating func add(_ later: ChangedPaths) {
    if let path = later.first { add(path) }
    for path in later.others?[0].paths ?? [] { add(path) }
  }

  /// Adds key paths whose first changes precede all others.
  mutating func add(before earlier: ChangedPaths) {
    var all = earlier
    all.add(self)
    self = all
  }
}

/// All paths but the first.
private struct Others: Sendable {
  private static let scanLimit = 16

  private(set) var paths: [KVOPath] = []
  /// The objects of `paths`, once they are too many for a linear search.
  private var known: Set<ObjectIdentifier> = []

  mutating func add(_ path: KVOPath) {
    if paths.count < Self.scanLimit {
      if paths.contains(where: { $0.object == path.object }) { return }
    } else {
      if known.isEmpty { known = Set(paths.map(\.object)) }
      guard known.insert(path.object).inserted else { return }
    }
    paths.append(path)
  }
}
