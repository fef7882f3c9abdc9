@testable import Campanile

extension ObserverList {
  /// How many registrations have not ended.
  var count: Int { registry.withState { _ in registrations.count } }
}

extension SubjectIndex {
  /// How many subjects the table has places for.
  var capacity: Int { current?.capacity ?? 0 }
}
