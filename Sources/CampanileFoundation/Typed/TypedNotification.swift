public import Foundation

/// A type whose values travel in notifications.
///
/// The type says once what the name is and how a value is written and read:
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
/// A value is read on the thread that posts, once for each post, so that it may be read from what
/// is not Sendable; what crosses to other threads is the value. For a notification whose type is
/// somebody else's see ``NotificationDescriptor``.
public protocol TypedNotification: Sendable {
  /// The name under which values of this type are posted.
  static var notificationName: Notification.Name { get }

  /// Reads a value out of a notification of that name.
  ///
  /// What is thrown goes to the observers' failure handlers; no value takes the place of one that
  /// cannot be read.
  init(from notification: Notification) throws

  /// What to write into the user info, so that ``init(from:)`` can read it.
  var userInfo: [AnyHashable: any Sendable] { get }
}

extension TypedNotification {
  /// How this type is read and written.
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
