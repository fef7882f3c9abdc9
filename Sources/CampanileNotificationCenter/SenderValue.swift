import Campanile
import CampanileFoundation
import Foundation

/// A value as the object of notifications.
///
/// A value that cannot be compared is equal to no other, since it has no identity either.
struct SenderValue: Sendable {
  /// Holds a value that is not known to be `Sendable`.
  private let holder: PostedNotification

  init(_ object: Any) {
    holder = PostedNotification(Notification(name: Notification.Name(""), object: object))
  }

  /// The value, if it can be compared.
  var hashable: AnyHashable? { Self.hashable(holder.notification.object) }

  /// A value for comparisons, if it can be compared.
  static func hashable(_ object: Any?) -> AnyHashable? {
    Notification.sender(object) as? AnyHashable
  }

  /// The value's hash, or `nil` if it cannot be compared.
  var hash: Int? { hashable?.hashValue }

  func isEqual(_ other: SenderValue) -> Bool { hashable != nil && hashable == other.hashable }
}
