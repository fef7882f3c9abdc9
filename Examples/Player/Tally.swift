import Foundation
import Synchronization

/// Counts calls, and remembers where they ran.
final class Tally: Sendable {
  private struct Notes {
    var count = 0
    var places: [String] = []
  }

  let name: String
  /// What is counted, for the table at the end.
  let counts: String
  private let notes = Mutex(Notes())

  init(_ name: String, counts: String) {
    self.name = name
    self.counts = counts
  }

  var count: Int { notes.withLock { $0.count } }

  /// The actors and threads that have called `note`.
  var places: [String] { notes.withLock { $0.places } }

  /// Counts one call.
  ///
  /// The compiler fills in `isolation`.
  func note(isolation: (any Actor)? = #isolation) {
    let place =
      switch isolation {
      case nil: Thread.current.threadDictionary[Self.key] as? String ?? "another thread"
      case is MainActor: "main actor"
      case let actor?: "actor \(type(of: actor))"
      }
    notes.withLock { notes in
      notes.count += 1
      if !notes.places.contains(place) { notes.places.append(place) }
    }
  }

  private static let key = "Tally"

  /// Names the current thread, for `places`.
  static func nameThread(_ name: String) { Thread.current.threadDictionary[key] = name }
}
