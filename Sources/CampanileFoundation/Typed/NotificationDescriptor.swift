public import Foundation

/// How the notifications of one name are read as values of one type, and written.
///
/// For notifications whose names are somebody else's:
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
/// however many observers there are; what the decoder returns is what crosses to other threads. A
/// notification that cannot be decoded reaches nobody through this descriptor. Each observer's
/// `onFailure` is told instead, where and when the observer would have been called; without one, a
/// line that names the observer goes to standard error. A sequence leaves it out. A failure does
/// not use up an observer that wants to be called once.
///
/// A descriptor is known by its identity: keep it in a `static let`. Two made in the same way
/// decode twice.
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
  /// A descriptor that was made without a way to encode cannot, which is a precondition failure.
  public func notification(of value: Value, about object: AnyObject? = nil) -> Notification {
    guard let encode else {
      preconditionFailure(
        "A descriptor of \(name.rawValue) without an encoder was asked for a notification")
    }
    return Notification(name: name, object: object, userInfo: encode(value))
  }
}
