public import Foundation

/// Posting values, and what values can be observed.
extension NotificationCenter {
  /// Posts a value as a notification of its type's name.
  ///
  /// As `post(name:object:userInfo:)`: everybody hears it who observes that name, in whatever way.
  public func post<Value: TypedNotification>(
    _ value: Value, object: AnyObject? = nil
  ) {
    post(value.notification(about: object))
  }

  /// The notifications of a type, or those of them about `object`.
  ///
  /// - Parameters:
  ///   - type: What the notifications are decoded as.
  ///   - object: As in ``notifications(of:object:)``.
  ///   - onFailure: Called where the observer would have been, if a notification cannot be decoded.
  ///     Without it one line goes to standard error.
  public func notifications<Object: AnyObject, Value: TypedNotification>(
    of type: Value.Type, object: Object?? = AnyObject??.none,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> DecodedNotificationSource<Value> {
    notifications(of: type.descriptor, object: object, onFailure: onFailure)
  }

  /// The notifications that `descriptor` describes, or those of them about `object`.
  ///
  /// - Parameters:
  ///   - descriptor: Says what the name is and how to decode.
  ///   - object: As in ``notifications(of:object:)``.
  ///   - onFailure: Called where the observer would have been, if a notification cannot be decoded.
  ///     Without it one line goes to standard error.
  public func notifications<Object: AnyObject, Value: Sendable>(
    of descriptor: NotificationDescriptor<Value>, object: Object?? = AnyObject??.none,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> DecodedNotificationSource<Value> {
    DecodedNotificationSource(
      source: notifications(of: descriptor.name, object: object), descriptor: descriptor,
      onFailure: onFailure)
  }

  /// Posts `value` as `descriptor` writes it.
  ///
  /// A descriptor that was made without a way to encode cannot, which is a precondition failure.
  public func post<Value: Sendable>(
    _ value: Value, as descriptor: NotificationDescriptor<Value>, object: AnyObject? = nil
  ) {
    post(descriptor.notification(of: value, about: object))
  }
}
