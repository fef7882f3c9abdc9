import Campanile
import CampanileFoundation
import Foundation

/// What an observer wants notifications to be about.
enum Sender: Sendable {
  case any
  /// An instance, by identity, not kept.
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

  /// Whether an observer that was added with `other` is meant by this.
  func includes(_ other: Sender) -> Bool {
    switch (self, other) {
    case (.any, _): return true
    case (.instance(let one), .instance(let other)): return one == other
    case (.value(let one), .value(let other)): return one.isEqual(other)
    default: return false
    }
  }
}
