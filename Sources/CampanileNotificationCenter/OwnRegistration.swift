import Campanile

/// The registration of an observer, for what the observer does itself.
final class OwnRegistration: Sendable {
  private let registration = Locked<Registration?>(nil)

  func set(_ registration: Registration) {
    self.registration.withLock { $0 = registration }
  }

  /// Whether the observer may be called: true until it is known to have been removed.
  var isActive: Bool { registration.withLock { $0 }?.isActive ?? true }
}
