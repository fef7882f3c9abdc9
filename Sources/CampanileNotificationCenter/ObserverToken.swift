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
  func matches(name: Notification.Name?, _ sender: Sender) -> Bool {
    (name == nil || name == self.name) && sender.includes(self.sender)
  }
}

/// The registration of an observer, for what the observer does itself.
final class OwnRegistration: Sendable {
  private let registration = Locked<Registration?>(nil)

  func set(_ registration: Registration) {
    self.registration.withLock { $0 = registration }
  }

  /// Whether the observer may be called: true until it is known to have been removed.
  var isActive: Bool { registration.withLock { $0 }?.isActive ?? true }
}
