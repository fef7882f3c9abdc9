import Campanile
import CampanileFoundation
import Foundation

/// A value as the object of notifications.
///
/// A value that cannot be compared is equal to no other, since it has no identity either.
struct SenderValue: Sendable {
  /// Holds an `AnyHashable`, whose value is not known to be `Sendable`.
  private let holder: PostedNotification?

  init(_ object: Any) {
    // Made once: to find out whether a value can be compared takes as long as to compare it.
    holder = Self.hashable(object).map {
      PostedNotification(Notification(name: Notification.Name(""), object: $0))
    }
  }

  /// The value, if it can be compared.
  var hashable: AnyHashable? { holder?.notification.object as? AnyHashable }

  /// A value for comparisons, if it can be compared.
  static func hashable(_ object: Any?) -> AnyHashable? {
    Notification.sender(object) as? AnyHashable
  }

  /// The value's hash, or `nil` if it cannot be compared.
  var hash: Int? { hashable?.hashValue }

  func isEqual(_ other: SenderValue) -> Bool { hashable != nil && hashable == other.hashable }
}
