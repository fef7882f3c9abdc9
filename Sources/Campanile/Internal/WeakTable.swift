/// Objects by key, none of which is kept; those that have gone are forgotten as others come.
///
/// Made to stand under a lock. To look at an object may be to hold it last, so what was looked at
/// is handed out, for the caller to release outside the lock.
package struct WeakTable<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
  private struct Reference: Sendable {
    weak let object: Object?
  }

  private var references: [Key: Reference] = [:]
  private var schedule: PurgeSchedule

  /// - Parameter least: How many places are taken before anybody looks for those to give back.
  package init(purgingFrom least: Int = 64) { schedule = PurgeSchedule(from: least) }

  /// How many places are taken, by the living and by those that have gone unnoticed.
  package var count: Int { references.count }

  package subscript(key: Key) -> Object? { references[key]?.object }

  /// Puts an object in the place of whatever has its key.
  ///
  /// - Returns: what was looked at.
  package mutating func insert(_ object: Object, for key: Key) -> [Object] {
    var seen: [Object] = []
    if schedule.isDue(references.count) {
      seen = purge()
      schedule.note(references.count)
    }
    references[key] = Reference(object: object)
    return seen
  }

  /// Gives the places of those back that have gone.
  ///
  /// - Returns: the others.
  package mutating func purge() -> [Object] {
    var living: [Object] = []
    references = references.filter { place in
      guard let object = place.value.object else { return false }
      living.append(object)
      return true
    }
    return living
  }
}
