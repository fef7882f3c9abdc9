import Campanile
import CampanileFoundation
import Foundation

/// A value as what notifications are about.
///
/// A value that cannot be compared is equal to none, as it has no identity either.
struct SenderValue: Sendable {
  /// Holds what is not known to be Sendable.
  private let holder: PostedNotification

  init(_ object: Any) {
    holder = PostedNotification(Notification(name: Notification.Name(""), object: object))
  }

  private var value: AnyHashable? { holder.notification.object as? AnyHashable }

  func isSender(of notification: Notification) -> Bool {
    guard let value else { return false }
    return notification.object as? AnyHashable == value
  }

  func isEqual(_ other: SenderValue) -> Bool { value != nil && value == other.value }
}

/// Which values the observers of values are about, for their removal.
final class SenderValues: Sendable {
  private struct Table {
    var entries: [Registration: SenderValue] = [:]
    var purgeThreshold = 64
  }

  private let table = Locked(Table())

  /// How many observers are remembered, those included that have ended unnoticed.
  var count: Int { table.withLock { $0.entries.count } }

  func add(_ value: SenderValue, for registration: Registration) {
    purge()
    table.withLock { $0.entries[registration] = value }
  }

  /// Those of `registrations` that are about `value`.
  func registrations(_ registrations: [Registration], about value: SenderValue) -> [Registration] {
    let values = table.withLock { table in registrations.map { table.entries[$0] } }
    // Compared outside the lock, since values compare in their own way.
    return zip(registrations, values).filter { $1?.isEqual(value) == true }.map { $0.0 }
  }

  /// Forgets the observers that have ended, once in a while.
  private func purge() {
    let entries = table.withLock { table in
      table.entries.count >= table.purgeThreshold ? table.entries : [:]
    }
    if entries.isEmpty { return }
    let ended = entries.filter { !$0.key.isActive }
    table.withLock { table in
      for registration in ended.keys { table.entries[registration] = nil }
      table.purgeThreshold = max(64, table.entries.count * 2)
    }
    // What ended is released here, outside the lock.
    withExtendedLifetime((entries, ended)) {}
  }
}
