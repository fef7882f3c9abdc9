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

  /// The codecs in use, by the names of notifications.
  private let tables = Locked<[Notification.Name: Table]>([:])
  /// Whether the tables are known to be empty.
  ///
  /// Posts check this without the lock.
  private let areNone = Atomic<Bool>(true)

  /// Whether no notification has to be decoded.
  var isEmpty: Bool { areNone.load(ordering: .acquiring) }

  /// The number of codecs stored for a name, including released codecs that have not been removed
  /// yet.
  func count(of name: Notification.Name) -> Int { tables.withLock { $0[name]?.count ?? 0 } }

  /// Lets a codec decode for as long as the result is kept.
  ///
  /// All observers of the same codec share one result.
  func use(_ codec: NotificationCodec, of name: Notification.Name) -> Use {
    let new = Use(of: codec, name, in: self)
    // Released outside the lock, since this may be the last reference.
    let (shared, seen) = tables.withLock { tables -> (Use, [Use]) in
      if let shared = tables[name]?[codec.id] { return (shared, []) }
      let seen = tables[name, default: Table(purgingFrom: 8)].insert(new, for: codec.id)
      areNone.store(false, ordering: .releasing)
      return (new, seen)
    }
    withExtendedLifetime(seen) {}
    return shared
  }

  /// Removes the released codecs of a name, so that posts without typed observers take no lock.
  private func forget(_ name: Notification.Name) {
    let seen = tables.withLock { living(of: name, &$0) }
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
    let uses = tables.withLock { living(of: notification.name, &$0) }
    var decoded: [ObjectIdentifier: DecodedValue] = [:]
    for use in uses { decoded[use.codec.id] = DecodedValue(notification, by: use.codec) }
    return decoded
  }

  /// The codecs of a name that observers keep.
  ///
  /// The others are removed.
  private func living(of name: Notification.Name, _ tables: inout [Notification.Name: Table])
    -> [Use]
  {
    guard let living = tables[name]?.purge() else { return [] }
    if living.isEmpty { tables[name] = nil }
    if tables.isEmpty { areNone.store(true, ordering: .releasing) }
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
