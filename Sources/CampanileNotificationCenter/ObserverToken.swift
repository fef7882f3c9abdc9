import Campanile
import Foundation

/// What `addObserver(forName:object:queue:using:)` hands out.
final class ObserverToken: NSObject {
  let registration: Registration
  private let name: Notification.Name?
  private let sender: Sender

  init(_ registration: Registration, name: Notification.Name?, sender: Sender) {
    self.registration = registration
    self.name = name
    self.sender = sender
  }

  /// Whether the observer was added with this name and object, of which each may be left out.
  func matches(name: Notification.Name?, object: Any?) -> Bool {
    (name == nil || name == self.name) && sender.isIncluded(in: object)
  }
}
