import Campanile
import Synchronization

/// An instance that represents one observed value and all values that are equal to it.
///
/// The observers of the value keep it.
final class ValueSubject: Sendable {
  fileprivate let value: SenderValue
  private let hash: Int
  private let subjects: ValueSubjects

  fileprivate init(_ value: SenderValue, hash: Int, in subjects: ValueSubjects) {
    self.value = value
    self.hash = hash
    self.subjects = subjects
  }

  deinit { subjects.forget(ObjectIdentifier(self), hash: hash) }
}

/// The observed values, by their hashes.
///
/// The observers of a value are registered for its ``ValueSubject``. A post looks up that subject
/// once, and only if a value is observed. User code that hashes and compares values runs under no
/// lock.
final class ValueSubjects: Sendable {
  private struct Place: Sendable {
    let id: ObjectIdentifier
    weak let subject: ValueSubject?
  }

  /// Protected by the lock.
  private struct State {
    var places: [Int: [Place]] = [:]
    /// The number of subjects that have been inserted.
    var insertions = 0
  }

  private let state = Locked(State())
  /// The number of observed values.
  ///
  /// Posts read it without the lock.
  private let population = Atomic<Int>(0)

  /// The number of observed values, including values whose last observer is being released.
  var count: Int { population.load(ordering: .sequentiallyConsistent) }

  /// The subject of an observed value that is equal to `object`.
  func subject(equalTo object: Any) -> ValueSubject? {
    if count == 0 { return nil }
    guard let value = SenderValue.hashable(object) else { return nil }
    return find(value, hash: value.hashValue).subject
  }

  /// The subject for a value, created if no equal value is observed.
  ///
  /// - Returns: `nil` for a value that cannot be compared. No post can be about it.
  func makeSubject(for value: SenderValue) -> ValueSubject? {
    guard let hashable = value.hashable else { return nil }
    let hash = hashable.hashValue
    let new = ValueSubject(value, hash: hash, in: self)
    while true {
      let (found, insertions) = find(hashable, hash: hash)
      if let found { return found }
      let isDone = state.withLock { state in
        // If several threads look up a value at the same time, the first one inserts it.
        if state.insertions != insertions { return false }
        state.insertions += 1
        // Counted before another thread can find it, since that thread's post reads the count.
        population.add(1, ordering: .sequentiallyConsistent)
        state.places[hash, default: []].append(Place(id: ObjectIdentifier(new), subject: new))
        return true
      }
      if isDone { return new }
    }
  }

  /// Looks for a value among those with its hash.
  ///
  /// Also returns the number of insertions until then.
  private func find(
    _ value: AnyHashable, hash: Int
  ) -> (subject: ValueSubject?, insertions: Int) {
    let (candidates, insertions) = state.withLock { state in
      // Returned, and released outside the lock, since these may be the last references.
      ((state.places[hash] ?? []).compactMap(\.subject), state.insertions)
    }
    return (candidates.first { $0.value.hashable == value }, insertions)
  }

  fileprivate func forget(_ id: ObjectIdentifier, hash: Int) {
    let wasThere = state.withLock { state in
      guard var places = state.places[hash], let index = places.firstIndex(where: { $0.id == id })
      else { return false }
      places.remove(at: index)
      state.places[hash] = places.isEmpty ? nil : places
      return true
    }
    if wasThere { population.subtract(1, ordering: .sequentiallyConsistent) }
  }
}
