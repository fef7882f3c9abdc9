import Campanile
public import Foundation

/// Decodes the notifications of one name as values of one type, and encodes them.
///
/// Use it for notifications whose names you do not own:
///
/// ```swift
/// extension NotificationDescriptor where Value == Float {
///   static let level = NotificationDescriptor(.levelChanged) { notification in
///     try notification.value(forKey: "level")
///   }
/// }
///
/// center.notifications(of: .level).observe(owner: meter, on: .main) { meter, level in
///   meter.show(level)
/// }
/// ```
///
/// ## Behavior
///
/// A notification is decoded on the thread that posts it, once for each post and descriptor,
/// whatever the number of observers.
///
/// Only the decoded value crosses to other threads. If a notification cannot be decoded, no
/// observer of this descriptor receives it; instead, each observer's `onFailure` is called, where
/// and when the observer would have been called. Without `onFailure`, a line that names the
/// observer is written to standard error. A sequence skips the notification, and an observer with
/// `.once` waits for the next one.
///
/// Keep a descriptor in a `static let`. Two descriptors that were created in the same way count as
/// different, and decode twice.
public struct NotificationDescriptor<Value: Sendable>: Sendable {
  /// The name of the notifications.
  public let name: Notification.Name
  let codec: NotificationCodec
  private let encode: (@Sendable (Value) -> [AnyHashable: any Sendable])?

  /// Describes notifications that are only observed.
  public init(
    _ name: Notification.Name, decode: @escaping @Sendable (Notification) throws -> Value
  ) {
    self.name = name
    codec = NotificationCodec(id: nil, decode)
    encode = nil
  }

  /// Describes notifications that are observed and posted.
  public init(
    _ name: Notification.Name, decode: @escaping @Sendable (Notification) throws -> Value,
    encode: @escaping @Sendable (Value) -> [AnyHashable: any Sendable]
  ) {
    self.name = name
    codec = NotificationCodec(id: nil, decode)
    self.encode = encode
  }

  init(
    name: Notification.Name, id: ObjectIdentifier,
    decode: @escaping @Sendable (Notification) throws -> Value,
    encode: @escaping @Sendable (Value) -> [AnyHashable: any Sendable]
  ) {
    self.name = name
    codec = NotificationCodec(id: id, decode)
    self.encode = encode
  }

  /// A notification that carries `value`.
  ///
  /// If the descriptor has no `encode` closure, this is a precondition failure.
  public func notification(of value: Value, about object: AnyObject? = nil) -> Notification {
    guard let encode else {
      misuse(
        "A descriptor of \(name.rawValue) without an encoder was asked for a notification")
    }
    return Notification(name: name, object: object, userInfo: encode(value))
  }
}
