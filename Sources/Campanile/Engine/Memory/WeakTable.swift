/// Weakly held objects by key; entries of released objects are removed as others are added.
///
/// It is used under a lock. Reading an object retains it, and releasing it may be the last release.
/// So the table returns the objects that it has read, and the caller releases them outside the
/// lock.
package struct WeakTable<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
  private struct Reference: Sendable {
    weak let object: Object?
  }

  private var references: [Key: Reference] = .init()
  private var schedule: PurgeSchedule

  /// - Parameter least: The number of used places from which on the table looks for places to free.
  package init(purgingFrom least: Int = 64) { schedule = PurgeSchedule(from: least) }

  /// The number of used places, including those of released objects that were not noticed yet.
  package var count: Int { references.count }

  package subscript(key: Key) -> Object? { references[key]?.object }

  /// Adds an object, in place of any other object with the same key.
  ///
  /// - Returns: The objects that were read, for the caller to release.
  // Not specialized, as in `RareChanges.swift`.
  @_semantics("optimize.sil.specialize.generic.never")
  package mutating func insert(_ object: Object, for key: Key) -> [Object] {
    var seen: [Object] = []
    if schedule.isDue(references.count) {
      seen = purge()
      schedule.note(references.count)
    }
    references[key] = Reference(object: object)
    return seen
  }

  /// Removes the entries of released objects.
  ///
  /// - Returns: The living objects.
  // Not specialized, for the same reason.
  @_semantics("optimize.sil.specialize.generic.never")
  package mutating func purge() -> [Object] {
    var living: [Object] = []
    for (key, reference) in references {
      if let object = reference.object {
        living.append(object)
      } else {
        references.removeValue(forKey: key)
      }
    }
    return living
  }
}

extension Locked {
  /// The object that all who name a key share: `new`, if there is none.
  ///
  /// - Parameter isRight: Whether the object that was found is the key's, which another one may have
  ///   had before.
  package func shared<Key, Object>(
    _ key: Key, or new: Object, where isRight: (Object) -> Bool = { _ in true }
  ) -> Object where State == WeakTable<Key, Object> {
    let (object, seen) = withLock { table -> (Object, [Object]) in
      let known = table[key]
      if let known, isRight(known) { return (known, []) }
      return (new, table.insert(new, for: key) + [known].compactMap { $0 })
    }
    // Released outside the lock: these may be the last references.
    withExtendedLifetime(seen) {}
    return object
  }
}
