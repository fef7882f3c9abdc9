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
/// A post in one center is also made in the other one, on the same thread, before the post returns.
///
/// The bridge is one of the observers of each center, so it carries a post when its turn comes in
/// the order of registration. The subject of a message is the object of the notification; if that
/// object cannot be a subject of the message's type, the message has no subject. A notification
/// that cannot be decoded is not carried, and `onFailure` is called.
///
/// No post returns to a center that it has passed through, along any number of bridges, because
/// bridges record these centers in the user info of the notifications that they post, in an entry
/// under ``pathKey``. So if an observer posts a carried notification again, with that entry, it is
/// not carried to the centers that the entry names. To have it carried everywhere, post a new
/// notification, or remove the entry. Two bridges between the same centers, or two paths along
/// several bridges, carry a post twice.
///
/// The bridge keeps both centers until its release, which ends it. All methods are safe to call
/// from any thread.
public final class NotificationBridge: Sendable {
  /// The directions in which a bridge carries a type.
  public enum Direction: Sendable, Hashable {
    /// Posts in either center are also made in the other one.
    case bothWays
    /// Messages become notifications.
    case toNotifications
    /// Notifications become messages.
    case toMessages
  }

  /// The user info key for the centers that a carried notification has passed through.
  ///
  /// The value is an array of integers.
  public static let pathKey = "CampanileBridgePath"

  /// The message center.
  public let messages: MessageCenter
  /// The Foundation center.
  public let notifications: NotificationCenter
  /// The owner of the observations of notifications.
  ///
  /// The observations end with the bridge.
  private let inward = Inward()
  private let carried = Locked<[ObjectIdentifier: Carriage]>([:])

  /// Creates a bridge that carries nothing.
  public init(between messages: MessageCenter, and notifications: NotificationCenter) {
    self.messages = messages
    self.notifications = notifications
  }

  private final class Inward: Sendable {}

  deinit { cancel() }

  /// Carries a type from now on.
  ///
  /// For a type that is already carried, this changes the direction and `onFailure`. A post that is
  /// made during the call is carried once at most.
  ///
  /// - Parameters:
  ///   - type: The type, which decodes and encodes its notifications.
  ///   - direction: Both ways by default.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - onFailure: Called on the posting thread if the notification cannot be decoded. Without it,
  ///     one line is written to standard error.
  public func carry<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type, _ direction: Direction = .bothWays,
    file: StaticString = #fileID, line: UInt = #line,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil
  ) {
    let reporter = Reporter(file: file, line: line, onFailure: onFailure)
    let (carriage, ended) = change(type, to: direction, reporter)
    for way in ended { way.close() }
    carriage.outward?.open { carryOut(type, by: $0, file: file, line: line) }
    carriage.inward?.open { carryIn(type, by: $0, file: file, line: line) }
  }

  /// Stops carrying a type.
  public func stopCarrying<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type
  ) {
    carried.withLock { $0.removeValue(forKey: ObjectIdentifier(type)) }?.close()
  }

  /// Stops carrying all types, as releasing the bridge does.
  public func cancel() {
    let ended = carried.withLock { carried in
      defer { carried = [:] }
      return carried
    }
    for carriage in ended.values { carriage.close() }
  }

  /// Records the directions for a type.
  ///
  /// Ways that stay open are not replaced, so that no post is carried twice.
  ///
  /// - Returns: The ways that must be open, and those to close.
  private func change<Carried>(
    _ type: Carried.Type, to direction: Direction, _ reporter: Reporter
  ) -> (Carriage, ended: [Way]) {
    let (carriage, old) = carried.withLock { carried -> (Carriage, Carriage) in
      let old = carried[ObjectIdentifier(type)] ?? Carriage()
      let new = Carriage(
        outward: direction == .toMessages ? nil : old.outward ?? Way(),
        inward: direction == .toNotifications ? nil : old.inward ?? Way())
      carried[ObjectIdentifier(type)] = new
      return (new, old)
    }
    carriage.inward?.setReporter(reporter)
    let ended = [
      carriage.outward == nil ? old.outward : nil, carriage.inward == nil ? old.inward : nil,
    ]
    return (carriage, ended.compactMap { $0 })
  }

  private func carryOut<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type, by attempt: Attempt, file: StaticString, line: UInt
  ) -> Registration {
    let (origin, destination) = (messages.pathStep, notifications.pathStep)
    return messages.observeInPlace(type, file: file, line: line) {
      [weak notifications] message, post in
      guard attempt.counts, let notifications else { return }
      let path = post.path
      if path.contains(destination) { return }
      var notification = message.notification(about: post.subject(of: type))
      notification.bridgePath = path + [origin]
      notifications.post(notification)
    }
  }

  private func carryIn<Carried: MessageCenter.Message & TypedNotification>(
    _ type: Carried.Type, by attempt: Attempt, file: StaticString, line: UInt
  ) -> Registration {
    let (origin, destination) = (notifications.pathStep, messages.pathStep)
    let bridged = notifications.notifications(of: Carried.notificationName)
    return bridged.observe(owner: self.inward, file: file, line: line) {
      [weak messages] _, posted in
      guard attempt.counts, let messages else { return }
      let notification = posted.notification
      let path = notification.bridgePath
      if path.contains(destination) { return }
      let message: Carried
      do {
        message = try Carried(from: notification)
      } catch {
        attempt.way.report(error, name: posted.name, type)
        return
      }
      messages.post(
        message, about: notification.subject as? Carried.Subject, along: path + [origin])
    }
  }
}
