import Campanile
import CampanileFoundation
import Foundation

/// What an observer wants notifications to be about.
enum Sender: Sendable {
  case any
  /// An instance, by identity, not kept; of one in its deinit, no instance's.
  case instance(SubjectIdentity)
  /// A value, by equality.
  case value(SenderValue)

  init(_ object: Any?) {
    guard let object = Notification.sender(object) else {
      self = .any
      return
    }
    if let instance = Notification.subject(object) {
      self = .instance(SubjectIdentity(instance))
    } else {
      self = .value(SenderValue(object))
    }
  }

  /// Whether an observer that was added with this is meant by `object`, where `nil` means all.
  func isIncluded(in object: Any?) -> Bool {
    guard let object = Notification.sender(object) else { return true }
    switch self {
    case .any: return false
    case .instance(let identity):
      return Notification.subject(object).map { identity.isIdentity(of: $0) } ?? false
    case .value(let value):
      return Notification.subject(object) == nil && value.isEqual(SenderValue(object))
    }
  }
}
