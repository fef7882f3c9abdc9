import Campanile

/// The changes of one thread that are reported as one.
final class Transaction {
  /// The key paths that have changed, in the order of their first change.
  private var changes: [(evaluation: Evaluation, paths: ChangedPaths, edit: CollectionEdit?)] = []
  private var places: [ObjectIdentifier: Int] = [:]

  /// Adds a change.
  ///
  /// A second change of a key path makes an edit of the first one a setting.
  func add(_ evaluation: Evaluation, _ path: KVOPath, _ edit: CollectionEdit?) {
    if let place = places[ObjectIdentifier(evaluation)] {
      changes[place].paths.add(path)
      changes[place].edit = nil
    } else {
      places[ObjectIdentifier(evaluation)] = changes.count
      changes.append((evaluation, ChangedPaths(path), edit))
    }
  }

  /// Reports the changes.
  ///
  /// All values are read before the first observer is called.
  func close() {
    for (evaluation, paths, edit) in changes { evaluation.add(paths, edit) }
    for (evaluation, _, _) in changes { evaluation.teller.makeCalls() }
  }
}
