/// The properties that changed, in the order of their first change.
///
/// Key paths may have arguments, whose `==` is foreign code. So none are compared where they are
/// added, which is done under locks: only the same objects are left out there, and equal ones in
/// ``all``.
@usableFromInline
struct ChangedPaths: Sendable {
  private var first: KVOPath?
  /// Nothing, or one: an array is a place that is allocated when it is needed, and copied by reference.
  private var others: [Others]?

  init(_ path: KVOPath?) { first = path }

  /// The key paths, each once.
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

  /// Adds key paths whose first changes came before all the others.
  mutating func add(before earlier: ChangedPaths) {
    var all = earlier
    all.add(self)
    self = all
  }
}

/// All but the first.
private struct Others: Sendable {
  private static let scanLimit = 16

  private(set) var paths: [KVOPath] = []
  /// The objects of `paths`, once there are too many to look through.
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
