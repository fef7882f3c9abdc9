public import Foundation

/// A notification as observers on any thread are given it.
///
/// Foundation's `Notification` is not Sendable: its object and its user info can be anything. This
/// is what of it may cross to another thread. The name is a value. What the user info holds is
/// handed out as a Sendable type that the observer names, and so is the object. What is of another
/// type stays where it is.
///
/// ```swift
/// center.observe(.levelChanged, owner: meter, on: .mainQueue) { meter, notification in
///   meter.show(notification["level", as: Float.self] ?? 0)
/// }
/// ```
///
/// The notification is kept, with its object and user info, until the last copy of this goes, and
/// what it kept may be released on that copy's thread. To read anything else of a notification,
/// decode it where it is posted: see ``NotificationDescriptor``.
///
/// An object that is in its `deinit` cannot be kept. It can be read on the thread that posts until
/// the post has returned. Elsewhere, and later, the notification has no object. A program that puts
/// an object into the user info in the object's own `deinit` stops if anybody keeps the
/// notification.
///
/// The types that are named must be concrete. At run time `any Sendable` is no other type than
/// `Any`, so that everything would pass as one, and as any other type that stands for many; to ask
/// for one, or for an array, a dictionary, a set, an optional or a result of such, is a
/// precondition failure. Only `any Error`, whose values always are Sendable, may be asked for. The
/// arguments of other generic types are not looked at: do not ask for a `Box<any P & Sendable>`.
public struct PostedNotification: Sendable {
  @usableFromInline let content: NotificationContent

  /// A notification for code on the poster's thread, and for code that the poster waits for.
  package init(_ notification: Notification) {
    content = NotificationContent(notification)
  }

  package init(_ content: NotificationContent) { self.content = content }

  /// The notification's name.
  public var name: Notification.Name { content.name }

  /// Not to be read as a whole: what is in it need not be Sendable.
  @available(
    *, unavailable,
    message: "User info is read by key, as a type: notification[\"title\", as: String.self]"
  )
  public var userInfo: [AnyHashable: Any]? { nil }

  /// Not to be read as a whole: it need not be Sendable.
  @available(
    *, unavailable, message: "The object is read as a type: notification.object(as: Player.self)"
  )
  public var object: Any? { nil }

  /// Not to be read without a type: what is in the user info need not be Sendable.
  @available(
    *, unavailable,
    message: "User info is read as a type, without a cast: notification[\"title\", as: String.self]"
  )
  public subscript(key: AnyHashable) -> Any? { nil }

  /// What the user info has under `key`, if it is a `Value`, which is a concrete type.
  public subscript<Value: Sendable>(
    key: AnyHashable, as type: Value.Type = Value.self
  ) -> Value? {
    SendableCast.cast(content.userInfo?[key], to: type)
  }

  /// A precondition failure, of which the compiler warns.
  @available(
    *, deprecated,
    message: "Every value passes as 'any Sendable'; ask for a concrete type, or use a descriptor"
  )
  public subscript(key: AnyHashable, as type: (any Sendable).Type) -> (any Sendable)? {
    SendableCast.cast(content.userInfo?[key], to: type)
  }

  /// What the user info has under `key`.
  ///
  /// - Throws: ``NotificationDecodingError`` if there is nothing, or something of another type.
  public func value<Value: Sendable>(
    forKey key: AnyHashable, as type: Value.Type = Value.self
  ) throws(NotificationDecodingError) -> Value {
    SendableCast.check(type)
    return try Notification(name: name, userInfo: content.userInfo).value(forKey: key, as: type)
  }

  /// The object of the notification, if it is an `Object`, which is a concrete type.
  ///
  /// `nil` for an object that was in its `deinit`, but on the thread that posts, during the post.
  public func object<Object: Sendable>(as type: Object.Type = Object.self) -> Object? {
    SendableCast.cast(content.object, to: type)
  }

  /// Whether the notification's object is this instance.
  ///
  /// The answer is `false` for an instance that was made later, also at the same address.
  public func isAbout(_ object: AnyObject) -> Bool { content.isAbout(object) }

  /// The instance that the notification is about; values have no identity.
  package var subject: AnyObject? { Notification.subject(content.object) }

  /// The notification itself, for the poster's thread, and for code that the poster waits for.
  package var notification: Notification {
    Notification(name: name, object: content.object, userInfo: content.userInfo)
  }

  /// Calls `body` with the notification itself, which is not copied to the stack for that.
  @inlinable
  package func withNotification(_ body: (Notification) -> Void) {
    content.withNotification(body)
  }

  /// What was decoded for `codec` where the notification was posted, or `nil` if nothing was tried.
  func decoded(for codec: ObjectIdentifier) -> Result<any Sendable, any Error>? {
    content.decoded(for: codec)
  }
}

extension PostedNotification: CustomStringConvertible {
  /// The notification's name.
  public var description: String { "notification \(name.rawValue)" }
}

extension Notification {
  /// The instance that the notification is about.
  ///
  /// A value is no instance: what it would be boxed in has another identity each time.
  package var subject: AnyObject? { Self.subject(object) }

  /// Whether the notification is about a value.
  package var isAboutValue: Bool { Self.sender(object) != nil && subject == nil }

  /// The instance that `object` is, if it is one, whatever it is wrapped in.
  package static func subject(_ object: Any?) -> AnyObject? {
    // Asked before the object is taken out, which copies it.
    if object == nil { return nil }
    guard let object = sender(object), type(of: object) is AnyClass else { return nil }
    return object as AnyObject
  }

  /// What `object` is, taken out of the optionals and the `AnyHashable` that it is wrapped in.
  package static func sender(_ object: Any?) -> Any? {
    guard let object else { return nil }
    // Asked first, since instances are what notifications are mostly about.
    if type(of: object) is AnyClass { return object }
    if let wrapper = object as? any SenderWrapper { return sender(wrapper.wrapped) }
    return object
  }
}

/// What may stand around the object of a notification.
private protocol SenderWrapper {
  var wrapped: Any? { get }
}

extension Optional: SenderWrapper {
  fileprivate var wrapped: Any? { self }
}

extension AnyHashable: SenderWrapper {
  fileprivate var wrapped: Any? { base }
}
