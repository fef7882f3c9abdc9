public import Foundation

/// A type whose values are posted in notifications.
///
/// The type has the name of the notifications, and decodes and encodes itself:
///
/// ```swift
/// struct TrackChanged: TypedNotification {
///   static let notificationName = Notification.Name("TrackChanged")
///   var title: String
///
///   init(title: String) { self.title = title }
///
///   init(from notification: Notification) throws {
///     title = try notification.value(forKey: "title")
///   }
///
///   var userInfo: [AnyHashable: any Sendable] { ["title": title] }
/// }
///
/// center.notifications(of: TrackChanged.self).observe(owner: screen, on: .main) {
///   $0.title = $1.title
/// }
/// center.post(TrackChanged(title: "Aria"), object: player)
/// ```
///
/// A value is decoded on the posting thread, once for each post, and only the value crosses to
/// other threads, so the content of the notification need not be `Sendable`. For a notification
/// whose name you do not own, see ``NotificationDescriptor``.
public protocol TypedNotification: Sendable {
  /// The name under which values of this type are posted.
  static var notificationName: Notification.Name { get }

  /// Reads a value from a notification of that name.
  ///
  /// If this throws, the observers are not called, but their failure handlers are.
  init(from notification: Notification) throws

  /// The user info to write, from which ``init(from:)`` can read the value.
  var userInfo: [AnyHashable: any Sendable] { get }
}

extension TypedNotification {
  /// The descriptor that decodes and encodes values of this type.
  public static var descriptor: NotificationDescriptor<Self> {
    NotificationDescriptor(
      name: notificationName, id: ObjectIdentifier(Self.self),
      decode: { try Self(from: $0) }, encode: { $0.userInfo })
  }

  /// A notification that carries this value.
  public func notification(about object: AnyObject? = nil) -> Notification {
    Notification(name: Self.notificationName, object: object, userInfo: userInfo)
  }
}
