import Campanile
import Foundation
import Synchronization

/// Decodes the notifications of one center: each notification once for each codec, whatever the
/// number of observers.
final class NotificationCodecs: Sendable {
  /// A codec in use.
  ///
  /// Observers keep it, and a descriptor without observers does not.
  final class Use: Sendable {
    fileprivate let codec: NotificationCodec
    private let name: Notification.Name
    private weak let codecs: NotificationCodecs?

    fileprivate init(
      of codec: NotificationCodec, _ name: Notification.Name, in codecs: NotificationCodecs
    ) {
      self.codec = codec
      self.name = name
      self.codecs = codecs
    }

    deinit { codecs?.forget(name) }

    /// The result of decoding the notification, or `nil` if this codec did not run.
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
  /// Whether the tables are known to be empty.
  ///
  /// Posts check this without the lock.
  private let areNone = Atomic<Bool>(true)

  /// Whether no notification has to be decoded.
  var isEmpty: Bool { areNone.load(ordering: .acquiring) }

  /// The number of codecs stored for a name, including released codecs that have not been removed
  /// yet.
  func count(of name: Notification.Name) -> Int { state.withLock { $0.tables[name]?.count ?? 0 } }

  /// Lets a codec decode for as long as the result is kept.
  ///
  /// All observers of the same codec share one result.
  func use(_ codec: NotificationCodec, of name: Notification.Name) -> Use {
    let new = Use(of: codec, name, in: self)
    // Released outside the lock, since this may be the last reference.
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

  /// Removes the released codecs of a name, so that posts without typed observers take no lock.
  private func forget(_ name: Notification.Name) {
    let seen = state.withLock { living(of: name, &$0) }
    // Released outside the lock, since these may be the last references.
    withExtendedLifetime(seen) {}
  }

  /// The values that observers want decoded from a notification.
  ///
  /// - Returns: The results by codec, or `nil` if nothing has to be decoded.
  func decode(
    _ notification: Notification
  ) -> [ObjectIdentifier: DecodedValue]? {
    if isEmpty { return nil }
    let uses = state.withLock { living(of: notification.name, &$0) }
    var decoded: [ObjectIdentifier: DecodedValue] = [:]
    for use in uses { decoded[use.codec.id] = DecodedValue(notification, by: use.codec) }
    return decoded
  }

  /// The codecs of a name that observers keep.
  ///
  /// The others are removed.
  private func living(of name: Notification.Name, _ state: inout State) -> [Use] {
    guard let living = state.tables[name]?.purge() else { return [] }
    if living.isEmpty { state.tables[name] = nil }
    if state.tables.isEmpty { areNone.store(true, ordering: .releasing) }
    return living
  }
}

/// The result of decoding a notification with one codec.
struct DecodedValue: Sendable {
  let result: Result<any Sendable, any Error>
  /// Kept: a later codec at its address would have the same identity.
  private let codec: NotificationCodec

  fileprivate init(_ notification: Notification, by codec: NotificationCodec) {
    result = codec.decode(notification)
    self.codec = codec
  }
}
