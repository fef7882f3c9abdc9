import Foundation
import Synchronization

/// Counts something, and remembers where it happened.
final class Tally: Sendable {
  private struct Notes {
    var count = 0
    var places: [String] = []
  }

  let name: String
  private let notes = Mutex(Notes())

  init(_ name: String) { self.name = name }

  var count: Int { notes.withLock { $0.count } }

  /// Every actor and thread that has noted something here.
  var places: [String] { notes.withLock { $0.places } }

  /// Counts one more, here and now; `isolation` is filled in by the compiler.
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

  /// Names the current thread, for what is noted there.
  static func nameThread(_ name: String) { Thread.current.threadDictionary[key] = name }
}
