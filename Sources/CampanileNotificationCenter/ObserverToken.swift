import Campanile
import Foundation

/// The token that `addObserver(forName:object:queue:using:)` returns.
final class ObserverToken: NSObject {
  let registration: Registration
  private let name: Notification.Name?
  private let sender: Sender

  init(_ registration: Registration, name: Notification.Name?, sender: Sender) {
    self.registration = registration
    self.name = name
    self.sender = sender
  }

  /// Whether the observer was added with this name and object.
  ///
  /// `nil` matches any.
  func matches(name: Notification.Name?, object: Any?) -> Bool {
    (name == nil || name == self.name) && sender.isIncluded(in: object)
  }
}
