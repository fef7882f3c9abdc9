/// The properties that changed, in the order of their first change.
///
/// Key paths may have arguments, whose `==` is foreign code. So `add`, which is called under locks,
/// compares only the key path objects, and ``all`` removes equal ones.
@usableFromInline
struct ChangedPaths: Sendable {
  private var first: KVOPath?
  private var others: [KVOPath] = []

  init(_ path: KVOPath?) { first = path }

  /// The key paths, without duplicates.
  var all: [KVOPath] {
    guard let first else { return [] }
    if others.isEmpty { return [first] }
    var known: Set<KVOPath> = [first]
    return [first] + others.filter { known.insert($0).inserted }
  }

  mutating func add(_ path: KVOPath) {
    guard let first else { return self.first = path }
    if first.object == path.object || others.contains(where: { $0.object == path.object }) {
      return
    }
    others.append(path)
  }
}
