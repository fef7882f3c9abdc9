public import Foundation

/// A type whose values are posted in notifications.
///
/// The type defines the name, and how a value is written and read:
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
/// A value is read on the posting thread, once for each post. So the content of the notification
/// need not be `Sendable`: only the value crosses to other threads.
/// For a notification whose type you do not own, see ``NotificationDescriptor``.
public protocol TypedNotification: Sendable {
  /// The name under which values of this type are posted.
  static var notificationName: Notification.Name { get }

  /// Reads a value from a notification of that name.
  ///
  /// If this throws, the observers' failure handlers are called. No value replaces one that cannot
  /// be read.
  init(from notification: Notification) throws

  /// The user info to write, from which ``init(from:)`` can read the value.
  var userInfo: [AnyHashable: any Sendable] { get }
}

extension TypedNotification {
  /// How values of this type are read and written.
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
