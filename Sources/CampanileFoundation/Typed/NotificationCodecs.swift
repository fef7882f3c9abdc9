import Campanile
import Foundation
import Synchronization

/// What decodes the notifications of one center: each notification once for each codec, however many
/// observers want what it decodes.
final class NotificationCodecs: Sendable {
  /// A codec in use: the observers keep this, and a descriptor that nobody observes does not.
  final class Use: Sendable {
    fileprivate let codec: NotificationCodec

    fileprivate init(of codec: NotificationCodec) { self.codec = codec }

    /// What the notification was decoded as, or `nil` if nothing was tried.
    func decoded(_ notification: PostedNotification) -> Result<any Sendable, any Error>? {
      notification.decoded(for: codec.id)
    }
  }

  private typealias Table = WeakTable<ObjectIdentifier, Use>

  /// Protected by the lock.
  private struct State {
    var tables: [Notification.Name: Table] = [:]
    var purgeThreshold = 64
  }

  private let state = Locked(State())
  /// Whether the tables are known to be empty, which a post asks without the lock.
  private let areNone = Atomic<Bool>(true)

  /// Whether no post is looked at for somebody who wants it decoded.
  var isEmpty: Bool { areNone.load(ordering: .acquiring) }

  /// How many codecs of a name are remembered, those included that have gone unnoticed.
  func count(of name: Notification.Name) -> Int { state.withLock { $0.tables[name]?.count ?? 0 } }

  /// Lets a codec decode for as long as the result is kept.
  ///
  /// Everybody who wants what `codec` decodes shares one result.
  func use(_ codec: NotificationCodec, of name: Notification.Name) -> Use {
    let new = Use(of: codec)
    // What was looked at is released outside the lock: to look may be to hold it last.
    let (shared, seen) = state.withLock { state -> (Use, [Use]) in
      if let shared = state.tables[name]?[codec.id] { return (shared, []) }
      var seen: [Use] = []
      if state.tables.count >= state.purgeThreshold {
        for name in Array(state.tables.keys) { seen += living(of: name, &state) }
        state.purgeThreshold = max(64, state.tables.count * 2)
      }
      seen += state.tables[name, default: Table(purgingFrom: 8)].insert(new, for: codec.id)
      areNone.store(false, ordering: .releasing)
      return (new, seen)
    }
    withExtendedLifetime(seen) {}
    return shared
  }

  /// What everybody wants decoded of a notification.
  func decode(_ notification: Notification) -> [ObjectIdentifier: Result<any Sendable, any Error>] {
    if isEmpty { return [:] }
    let uses = state.withLock { living(of: notification.name, &$0) }
    var decoded: [ObjectIdentifier: Result<any Sendable, any Error>] = [:]
    for use in uses { decoded[use.codec.id] = use.codec.decode(notification) }
    return decoded
  }

  /// The codecs of a name that somebody keeps; the others are forgotten.
  private func living(of name: Notification.Name, _ state: inout State) -> [Use] {
    guard let living = state.tables[name]?.purge() else { return [] }
    if living.isEmpty { state.tables[name] = nil }
    if state.tables.isEmpty { areNone.store(true, ordering: .releasing) }
    return living
  }
}
