public import Campanile
public import Foundation

/// Carries messages between a message center and a Foundation center.
///
/// ```swift
/// struct TrackChanged: MessageCenter.Message, TypedNotification { … }
///
/// bridge = NotificationBridge(between: messages, and: .default)
/// bridge.carry(TrackChanged.self)  // both ways
/// bridge.carry(LevelChanged.self, .toNotifications)
/// ```
///
/// ## Behavior
///
/// What is posted in one center is posted in the other one too, on the same thread, before the post
/// returns, and in its place among the observers there. Nothing comes back to where it has been, along
/// however many bridges: a message that came from a center is not carried there again. A notification
/// that a bridge posts has one entry more in its user info, under ``pathKey``, by which bridges know.
///
/// The subject of a message is the object of the notification. A notification's object that is no
/// subject for the message's type is left behind. A notification that cannot be decoded is not carried,
/// and `onFailure` is told.
///
/// Releasing the bridge ends it; it keeps both centers until then. All methods are safe from any
/// thread.
public final class NotificationBridge: Sendable {
  /// The ways in which a bridge carries a type.
  public enum Direction: Sendable, Hashable {
    /// What is posted in either center is posted in the other one.
    case bothWays
    /// Messages become notifications.
    case toNotifications
    /// Notifications become messages.
    case toMessages
  }

  /// The key in the user info of a carried notification that names the centers it came through.
  public static let pathKey = "CampanileBridgePath"

  /// The message center.
  public let messages: MessageCenter
  /// The Foundation center.
  public let notifications: NotificationCenter
  /// Owns the observations of notifications: one that ends with the bridge.
  private let inward = Inward()
  private let carried = Locked<[ObjectIdentifier: [Registration]]>([:])

  /// Creates a bridge that carries nothing.
  public init(between messages: MessageCenter, and notifications: NotificationCenter) {
    self.messages = messages
    self.notifications = notifications
  }

  private final class Inward: Sendable {}

  deinit { cancel() }

  /// Carries a type from now on.
  ///
  /// For a type that is carried already this changes the direction.
  ///
  /// - Parameters:
  ///   - type: The type, which says how to read and write notifications.
  ///   - direction: Both ways unless said.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - onFailure: Called where the notification is posted, if it cannot be decoded. Without it one
  ///     line goes to standard error.
  public func carry<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type, _ direction: Direction = .bothWays,
    file: StaticString = #fileID, line: UInt = #line,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) {
    var registrations: [Registration] = []
    if direction != .toMessages {
      registrations.append(carryOut(type, file: file, line: line))
    }
    if direction != .toNotifications {
      registrations.append(carryIn(type, file: file, line: line, onFailure: onFailure))
    }
    replace(ObjectIdentifier(type), with: registrations)
  }

  /// Carries a type no more.
  public func stopCarrying<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type
  ) {
    replace(ObjectIdentifier(type), with: nil)
  }

  /// Carries nothing from now on, as releasing the bridge does.
  public func cancel() {
    let ended = carried.withLock { carried in
      defer { carried = [:] }
      return carried
    }
    for registration in ended.values.joined() { registration.cancel() }
  }

  private func replace(_ type: ObjectIdentifier, with registrations: [Registration]?) {
    let ended = carried.withLock { carried in
      defer { carried[type] = registrations }
      return carried[type] ?? []
    }
    for registration in ended { registration.cancel() }
  }

  private func carryOut<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type, file: StaticString, line: UInt
  ) -> Registration {
    messages.observeInPlace(type, file: file, line: line) {
      [weak messages, weak notifications] message, subject in
      guard let messages, let notifications else { return }
      let path = ThreadMark.path(to: messages)
      if path.contains(ObjectIdentifier(notifications)) { return }
      var notification = message.notification(about: subject)
      notification.bridgePath = path + [ObjectIdentifier(messages)]
      notifications.post(notification)
    }
  }

  private func carryIn<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type, file: StaticString, line: UInt,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)?
  ) -> Registration {
    let name = Carried.notificationName
    let bridged = notifications.notifications(of: name)
    return bridged.observe(owner: self.inward, file: file, line: line) {
      [weak messages, weak notifications] _, posted in
      guard let messages, let notifications else { return }
      let notification = posted.notification
      let path = notification.bridgePath
      if path.contains(ObjectIdentifier(messages)) { return }
      let message: Carried
      do {
        message = try Carried(from: notification)
      } catch {
        let failure = NotificationDecodingFailure(
          name: name, valueType: type, error: error, file: "\(file)", line: Int(line))
        guard let onFailure else { throw failure }
        onFailure(failure)
        return
      }
      ThreadMark.carry(along: path + [ObjectIdentifier(notifications)], to: messages) {
        if let subject = notification.subject as? Carried.Subject {
          messages.post(message, about: subject)
        } else {
          messages.post(message)
        }
      }
    }
  }
}

extension Notification {
  /// The centers that this notification has come through, where bridges posted it.
  package var bridgePath: [ObjectIdentifier] {
    get { userInfo?[NotificationBridge.pathKey] as? [ObjectIdentifier] ?? [] }
    set { userInfo = (userInfo ?? [:]).merging([NotificationBridge.pathKey: newValue]) { $1 } }
  }
}
