import Campanile
import CampanileFoundation
import Foundation

/// What an observer wants notifications to be about.
enum Sender: Sendable {
  case any
  /// An instance, by identity, not kept.
  case instance(SubjectReference<AnyObject>)
  /// A value, by equality.
  case value(SenderValue)

  init(_ object: Any?) {
    guard let object else {
      self = .any
      return
    }
    if type(of: object) is AnyClass {
      self = .instance(SubjectReference(.some(object as AnyObject)))
    } else {
      self = .value(SenderValue(object))
    }
  }

  /// Whether an observer that was added with `other` is meant by this.
  func includes(_ other: Sender) -> Bool {
    switch (self, other) {
    case (.any, _): return true
    case (.instance(let one), .instance(let other)):
      guard case .some(.some(let one)) = one.current, case .some(.some(let other)) = other.current
      else { return false }
      return one === other
    case (.value(let one), .value(let other)): return one.isEqual(other)
    default: return false
    }
  }
}

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
