import Campanile
import CampanileNotificationCenter
import Foundation
@_exported import TestSupport

/// What the replacement and Foundation's center have in common: each is the other's, as it stands.
protocol CenterInterface: AnyObject, Sendable {
  init()
  func post(_ notification: Notification)
  func post(name aName: NSNotification.Name, object anObject: Any?, userInfo: [AnyHashable: Any]?)
  func addObserver(
    forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol
  func removeObserver(_ observer: Any)
  func removeObserver(_ observer: Any, name aName: NSNotification.Name?, object: Any?)
}

extension Foundation.NotificationCenter: CenterInterface {}
extension CampanileNotificationCenter.NotificationCenter: CenterInterface {}

extension CenterInterface {
  /// Adds an observer on the posting thread.
  @discardableResult
  func add(
    _ name: Notification.Name?, _ object: Any? = nil, queue: OperationQueue? = nil,
    _ block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol {
    addObserver(forName: name, object: object, queue: queue, using: block)
  }

  func post(_ name: Notification.Name, _ object: Any? = nil) {
    post(name: name, object: object, userInfo: nil)
  }
}

extension Notification.Name {
  static let tick = Notification.Name("Tick")
  static let tock = Notification.Name("Tock")
}

/// What notifications are about.
final class Bell: Sendable {}

extension Notification {
  var number: Int { userInfo?["number"] as? Int ?? -1 }
}

/// Keeps what is not Sendable for code that a test runs one after the other.
final class Kept<Value>: Sendable {
  // SAFETY: the test hands the value from one code to the next.
  private let value: UncheckedLock<Value?>
  init(_ value: sending Value? = nil) { self.value = UncheckedLock(value) }
  func set(_ new: sending Value?) { value.withLock { $0 = new } }
  func withValue<Result>(_ body: (Value?) -> Result) -> Result { value.withLock { body($0) } }
}
