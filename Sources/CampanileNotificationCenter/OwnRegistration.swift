import Campanile

/// The registration of an observer, for use inside the observer.
final class OwnRegistration: Sendable {
  private let registration = Locked<Registration?>(nil)

  func set(_ registration: Registration) {
    self.registration.withLock { $0 = registration }
  }

  /// Whether the observer may be called.
  ///
  /// `true` until its removal is known.
  var isActive: Bool { registration.withLock { $0 }?.isActive ?? true }
}
