import Campanile
import CampanileFoundation
import Foundation

/// The object that an observer filters by.
enum Sender: Sendable {
  case any
  /// A class instance, compared by identity and not kept.
  ///
  /// An instance in its deinit matches no object.
  case instance(SubjectIdentity)
  /// A value, compared by equality.
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

  /// Whether `object` selects an observer that was added with this sender.
  ///
  /// `nil` selects all.
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
