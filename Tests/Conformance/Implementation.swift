import CampanileTesting
import Foundation

/// What an implementation may be able to do.
///
/// A scenario that needs what an implementation has not is not applicable to it.
enum Ability: Sendable {
  /// Posts about an instance, and observers of one.
  case subjects
  /// Observers of every name or type.
  case wildcards
  /// Observers that run on a queue.
  case queues
  /// Posting from several threads at a time.
  case concurrency
  /// Observers that end with an object, and those among them that run on a queue.
  case owners, ownersOnQueues
  /// Owners whose end releases what the observer captured at once.
  case lifetimes
  /// Waiting for a call in progress when canceling.
  case waiting
  /// Skipping for a while.
  case pausing
  /// Posting and waiting for every delivery.
  case postAndWait
  /// Observers with a bounded buffer.
  case bounds
  /// Observers that throw.
  case throwing
  /// A value that is followed, instead of posts.
  case state
  /// Nested posts, each of which is delivered before it returns.
  case nesting
  /// A list of the live observers.
  case listing
}

/// What an observer asks for.
struct Wish: Sendable {
  var subject: Bell?
  var isWildcard = false
  var place: Place?
  var newest: Int?
  var owner: Owner?
  var isInitial = false
}

/// What a post can be about.
final class Bell: Sendable {}

/// What ends a registration.
struct Handle: Sendable {
  let cancel: @Sendable () -> Void
  var cancelAndWait: @Sendable () -> Void = {}
  var isActive: @Sendable () -> Bool = { false }
  var pause: @Sendable () -> Void = {}
  var resume: @Sendable () -> Void = {}
}

/// One source of one implementation, as the scenarios see it: it carries numbers.
protocol Source: AnyObject, Sendable {
  func post(_ number: Int)
  func post(_ number: Int, about subject: Bell)
  func postAndWait(_ number: Int) async throws
  func observe(_ wish: Wish, _ observer: @escaping @Sendable (Int) throws -> Void) -> Handle
  /// How many observers are listed.
  var listedCount: Int { get }
}

extension Source {
  func post(_ number: Int, about subject: Bell) { preconditionFailure("There are no subjects") }
  func postAndWait(_ number: Int) async throws { preconditionFailure("Nobody can wait") }
  var listedCount: Int { preconditionFailure("There is no list") }

  func observe(_ observer: @escaping @Sendable (Int) throws -> Void) -> Handle {
    observe(Wish(), observer)
  }
}

/// Something that sources can be made of.
struct Implementation: Sendable {
  let name: String
  let abilities: Set<Ability>
  /// For how many beats a post is waited for, where some implementations hang, before this one is
  /// said to.
  ///
  /// An implementation that hangs there makes whoever runs the suite wait for so long.
  let patience: Int
  let make: @Sendable () -> any Source

  static let all: [Implementation] = [
    .messageCenter, .broadcaster, .currentValue, .keyValueObserving, .replacement, .foundation,
    .dictionary,
  ]
}
