public import Campanile

/// Posting and observing values.
extension ObservableNotificationCenter {
  /// Posts a value as a notification with the name of its type.
  ///
  /// As with `post(name:object:userInfo:)`, all observers of that name receive it, typed or not.
  public func post<Value: TypedNotification>(
    _ value: Value, object: AnyObject? = nil
  ) {
    post(value.notification(about: object))
  }

  /// The notifications of a type, about any object.
  ///
  /// A notification is decoded once for each post, on the posting thread, whatever the number of
  /// observers; see ``NotificationDescriptor``.
  ///
  /// - Parameters:
  ///   - type: The type that the notifications are decoded as.
  ///   - onFailure: Called instead of the observer, at the same place, if a notification cannot be
  ///     decoded. Without it, one line is written to standard error.
  public func notifications<Value: TypedNotification>(
    of type: Value.Type, onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> Signal<Value> {
    notifications(of: type.descriptor, onFailure: onFailure)
  }

  /// The notifications of a type about one object.
  ///
  /// - Parameters:
  ///   - type: The type that the notifications are decoded as.
  ///   - object: The object of the notifications. It is compared by identity and not kept alive.
  ///   - onFailure: Called instead of the observer, at the same place, if a notification cannot be
  ///     decoded. Without it, one line is written to standard error.
  public func notifications<Value: TypedNotification>(
    of type: Value.Type, object: AnyObject,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> Signal<Value> {
    notifications(of: type.descriptor, object: object, onFailure: onFailure)
  }

  /// The notifications that a descriptor describes, about any object.
  ///
  /// - Parameters:
  ///   - descriptor: The name of the notifications, and how to decode them.
  ///   - onFailure: Called instead of the observer, at the same place, if a notification cannot be
  ///     decoded. Without it, one line is written to standard error.
  public func notifications<Value: Sendable>(
    of descriptor: NotificationDescriptor<Value>,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> Signal<Value> {
    let source = notifications(of: descriptor.name)
    return Signal(base: DecodedNotifications(source.base, descriptor, onFailure))
  }

  /// The notifications that a descriptor describes, about one object.
  ///
  /// - Parameters:
  ///   - descriptor: The name of the notifications, and how to decode them.
  ///   - object: The object of the notifications. It is compared by identity and not kept alive.
  ///   - onFailure: Called instead of the observer, at the same place, if a notification cannot be
  ///     decoded. Without it, one line is written to standard error.
  public func notifications<Value: Sendable>(
    of descriptor: NotificationDescriptor<Value>, object: AnyObject,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> Signal<Value> {
    let source = notifications(of: descriptor.name, object: object)
    return Signal(base: DecodedNotifications(source.base, descriptor, onFailure))
  }

  /// Posts `value` as a notification that `descriptor` encodes.
  ///
  /// If the descriptor has no `encode` closure, this is a precondition failure.
  public func post<Value: Sendable>(
    _ value: Value, as descriptor: NotificationDescriptor<Value>, object: AnyObject? = nil
  ) {
    post(descriptor.notification(of: value, about: object))
  }
}
