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
/// The types that are named must be concrete. At run time `any Sendable` is no other type than
/// `Any`, so that everything would pass as one, and as any other type that stands for many; to ask
/// for one, or for an array, a dictionary, a set, an optional or a result of such, is a
/// precondition failure. Only `any Error`, whose values always are Sendable, may be asked for. The
/// arguments of other generic types are not looked at: do not ask for a `Box<any P & Sendable>`.
public struct PostedNotification: Sendable {
  /// The notification's name.
  public let name: Notification.Name
  private let content: Content

  /// The notification itself, and what was decoded from it where it was posted.
  ///
  /// Sendable although a notification is not: nothing changes it, what leaves it is of a Sendable
  /// type, and the notification as a whole goes only to code on the poster's thread, or to code
  /// that the poster waits for.
  private final class Content: @unchecked Sendable {
    let notification: Notification
    let decoded: [ObjectIdentifier: Result<any Sendable, any Error>]

    init(
      _ notification: Notification, _ decoded: [ObjectIdentifier: Result<any Sendable, any Error>]
    ) {
      self.notification = notification
      self.decoded = decoded
    }
  }

  package init(
    _ notification: Notification,
    decoded: [ObjectIdentifier: Result<any Sendable, any Error>] = [:]
  ) {
    name = notification.name
    content = Content(notification, decoded)
  }

  /// Not to be read as a whole: what is in it need not be Sendable.
  @available(
    *, unavailable,
    message: "User info is read by key, as a type: notification[\"title\", as: String.self]"
  )
  public var userInfo: [AnyHashable: Any]? { nil }

  /// What the user info has under `key`, if it is a `Value`, which is a concrete type.
  public subscript<Value: Sendable>(
    key: AnyHashable, as type: Value.Type = Value.self
  ) -> Value? {
    SendableCast.cast(content.notification.userInfo?[key], to: type)
  }

  /// A precondition failure, of which the compiler warns.
  @available(
    *, deprecated,
    message: "Every value passes as 'any Sendable'; ask for a concrete type, or use a descriptor"
  )
  public subscript(key: AnyHashable, as type: (any Sendable).Type) -> (any Sendable)? {
    SendableCast.cast(content.notification.userInfo?[key], to: type)
  }

  /// What the user info has under `key`.
  ///
  /// - Throws: ``NotificationDecodingError`` if there is nothing, or something of another type.
  public func value<Value: Sendable>(
    forKey key: AnyHashable, as type: Value.Type = Value.self
  ) throws(NotificationDecodingError) -> Value {
    SendableCast.check(type)
    return try content.notification.value(forKey: key, as: type)
  }

  /// The object of the notification, if it is an `Object`, which is a concrete type.
  public func object<Object: Sendable>(as type: Object.Type = Object.self) -> Object? {
    SendableCast.cast(content.notification.object, to: type)
  }

  /// Whether the notification's object is this instance.
  public func isAbout(_ object: AnyObject) -> Bool { subject === object }

  /// The instance that the notification is about; values have no identity.
  package var subject: AnyObject? { content.notification.subject }

  /// The notification itself, for the poster's thread, and for code that the poster waits for.
  package var notification: Notification { content.notification }

  /// What was decoded for `codec` where the notification was posted, or `nil` if nothing was tried.
  func decoded(for codec: ObjectIdentifier) -> Result<any Sendable, any Error>? {
    content.decoded[codec]
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

  /// The instance that `object` is, if it is one.
  package static func subject(_ object: Any?) -> AnyObject? {
    guard let object, type(of: object) is AnyClass else { return nil }
    return object as AnyObject
  }
}
