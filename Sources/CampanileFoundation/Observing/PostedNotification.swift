import Campanile
public import Foundation

/// A notification, in the form that observers on any thread receive.
///
/// Foundation's `Notification` is not `Sendable`, because its object and its user info can be
/// anything. This type gives access to the parts that may cross to another thread: the name, and
/// those values of the user info, and the object, that have the `Sendable` type that the observer
/// names.
///
/// ```swift
/// center.observe(.levelChanged, owner: meter, on: .queue(.main)) { meter, notification in
///   meter.show(notification["level", as: Float.self] ?? 0)
/// }
/// ```
///
/// The notification is kept, with its object and user info, until the last copy of this value is
/// released, and its content may be released on the thread of that copy. To read anything else of a
/// notification, decode it where it is posted: see ``NotificationDescriptor``.
///
/// An object that is in its `deinit` cannot be kept. It can be read on the posting thread while the
/// immediate observers are called; elsewhere, and later, the notification has no object. Do not put
/// an object into the user info in the object's own `deinit`, because the program stops if an
/// observer keeps the notification.
///
/// The named types must be concrete. At run time, `any Sendable` is the same type as `Any`, so a
/// cast to it or to any other existential type proves nothing. Asking for an existential type, or
/// for an array, a dictionary, a set, an optional or a result of one, is therefore a precondition
/// failure. Only `any Error` is allowed, because its values are always `Sendable`.
///
/// Two mistakes are not detected. Do not ask for `SomeClass & Sendable`, which is the class alone
/// at run time, or for other generic types of an existential type, such as `Box<any P & Sendable>`,
/// of which only some are refused.
///
/// A value is read on the observer's thread, so the poster must not change it after the post, as it
/// could change an `NSMutableArray` that an observer reads as `[Int]`. Decode a mutable Foundation
/// object with a descriptor.
public struct PostedNotification: Sendable {
  @usableFromInline let content: NotificationContent

  /// A notification for code on the posting thread, and for code that the poster waits for.
  package init(_ notification: Notification) {
    content = NotificationContent(notification)
  }

  @inlinable
  package init(_ content: NotificationContent) { self.content = content }

  /// The notification's name.
  public var name: Notification.Name { content.name }

  /// Unavailable: the values in the user info need not be `Sendable`.
  @available(
    *, unavailable,
    message: "User info is read by key, as a type: notification[\"title\", as: String.self]"
  )
  public var userInfo: [AnyHashable: Any]? { nil }

  /// Unavailable: the object need not be `Sendable`.
  @available(
    *, unavailable, message: "The object is read as a type: notification.object(as: Player.self)"
  )
  public var object: Any? { nil }

  /// Unavailable without a type: the values in the user info need not be `Sendable`.
  @available(
    *, unavailable,
    message: "User info is read as a type, without a cast: notification[\"title\", as: String.self]"
  )
  public subscript(key: AnyHashable) -> Any? { nil }

  /// The value for `key` in the user info, if it is a `Value`.
  ///
  /// `Value` must be a concrete type.
  public subscript<Value: Sendable>(
    key: AnyHashable, as type: Value.Type = Value.self
  ) -> Value? {
    SendableCast.cast(content.userInfo?[key], to: type)
  }

  /// A precondition failure.
  ///
  /// The compiler warns about it.
  @available(
    *, deprecated,
    message: "Every value passes as 'any Sendable'; ask for a concrete type, or use a descriptor"
  )
  public subscript(key: AnyHashable, as type: (any Sendable).Type) -> (any Sendable)? {
    SendableCast.cast(content.userInfo?[key], to: type)
  }

  /// The value for `key` in the user info.
  ///
  /// - Throws: ``NotificationDecodingError`` if the value is missing or has another type.
  public func value<Value: Sendable>(
    forKey key: AnyHashable, as type: Value.Type = Value.self
  ) throws(NotificationDecodingError) -> Value {
    SendableCast.check(type)
    return try Notification(name: name, userInfo: content.userInfo).value(forKey: key, as: type)
  }

  /// The object of the notification, if it is an `Object`.
  ///
  /// `Object` must be a concrete type.
  ///
  /// The result is `nil` for an object that was in its `deinit`, except on the posting thread while
  /// the immediate observers are called.
  public func object<Object: Sendable>(as type: Object.Type = Object.self) -> Object? {
    SendableCast.cast(content.object, to: type)
  }

  /// Whether the notification's object is this instance.
  ///
  /// The answer is `false` for an instance that was created later, even at the same address, and,
  /// when the immediate observers have been called, for an instance that was in its `deinit`.
  public func isAbout(_ object: AnyObject) -> Bool { content.isAbout(object) }

  /// The object of the notification, if it is an instance of a class.
  ///
  /// Values have no identity.
  package var subject: AnyObject? { Notification.subject(content.object) }

  /// The notification itself, for the posting thread, and for code that the poster waits for.
  package var notification: Notification {
    Notification(name: name, object: content.object, userInfo: content.userInfo)
  }

  /// Calls `body` with the notification itself, without copying it to the stack.
  @inlinable @inline(__always)
  package func withNotification(_ body: (Notification) -> Void) {
    content.withNotification(body)
  }

  /// Ends the post.
  @inlinable
  package func settle() { content.settle() }

  /// The result of decoding with `codec` on the posting thread, or `nil` if that codec did not run.
  func decoded(for codec: ObjectIdentifier) -> Result<any Sendable, any Error>? {
    content.decoded(for: codec)
  }
}

extension PostedNotification: CustomStringConvertible {
  /// The notification's name.
  public var description: String { "notification \(name.rawValue)" }
}

extension Notification {
  /// The object of the notification, if it is an instance of a class.
  ///
  /// A value isn't: its box has another identity each time.
  package var subject: AnyObject? { Self.subject(object) }

  /// Whether the object of the notification is a value.
  package var isAboutValue: Bool { Self.sender(object) != nil && subject == nil }

  /// The class instance in `object`, after unwrapping, if it is one.
  package static func subject(_ object: Any?) -> AnyObject? {
    // Checked before the object is unwrapped, which copies it.
    if object == nil { return nil }
    return object.flatMap { classInstance($0) ?? wrappedSubject($0) }
  }

  @inline(never)
  private static func wrappedSubject(_ object: Any) -> AnyObject? {
    (object as? any SenderWrapper).flatMap { subject($0.wrapped) }
  }

  /// The content of `object`, unwrapped from optionals and `AnyHashable`.
  package static func sender(_ object: Any?) -> Any? {
    guard let object else { return nil }
    if classInstance(object) != nil { return object }
    if let wrapper = object as? any SenderWrapper { return sender(wrapper.wrapped) }
    return object
  }
}

/// A type that may wrap the object of a notification.
private protocol SenderWrapper {
  var wrapped: Any? { get }
}

extension Optional: SenderWrapper {
  fileprivate var wrapped: Any? { self }
}

extension AnyHashable: SenderWrapper {
  fileprivate var wrapped: Any? { base }
}
