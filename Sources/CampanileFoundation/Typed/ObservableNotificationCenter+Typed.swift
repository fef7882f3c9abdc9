public import Campanile

/// Posting values, and what values can be observed.
extension ObservableNotificationCenter {
  /// Posts a value as a notification of its type's name.
  ///
  /// As `post(name:object:userInfo:)`: everybody hears it who observes that name, in whatever way.
  public func post<Value: TypedNotification>(
    _ value: Value, object: AnyObject? = nil
  ) {
    post(value.notification(about: object))
  }

  /// The notifications of a type, whatever they are about.
  ///
  /// A notification is decoded once for each post, on the thread that posts, however many observers
  /// there are; see ``NotificationDescriptor``.
  ///
  /// - Parameters:
  ///   - type: What the notifications are decoded as.
  ///   - onFailure: Called where the observer would have been, if a notification cannot be decoded.
  ///     Without it one line goes to standard error.
  public func notifications<Value: TypedNotification>(
    of type: Value.Type, onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> Signal<Value> {
    notifications(of: type.descriptor, onFailure: onFailure)
  }

  /// The notifications of a type about one object.
  ///
  /// - Parameters:
  ///   - type: What the notifications are decoded as.
  ///   - object: As in `notifications(of:object:)`.
  ///   - onFailure: As for all objects.
  public func notifications<Value: TypedNotification>(
    of type: Value.Type, object: AnyObject,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> Signal<Value> {
    notifications(of: type.descriptor, object: object, onFailure: onFailure)
  }

  /// The notifications that a descriptor describes, whatever they are about.
  ///
  /// - Parameters:
  ///   - descriptor: Says what the name is and how to decode.
  ///   - onFailure: Called where the observer would have been, if a notification cannot be decoded.
  ///     Without it one line goes to standard error.
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
  ///   - descriptor: Says what the name is and how to decode.
  ///   - object: As in `notifications(of:object:)`.
  ///   - onFailure: As for all objects.
  public func notifications<Value: Sendable>(
    of descriptor: NotificationDescriptor<Value>, object: AnyObject,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) -> Signal<Value> {
    let source = notifications(of: descriptor.name, object: object)
    return Signal(base: DecodedNotifications(source.base, descriptor, onFailure))
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
