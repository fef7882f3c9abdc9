import Campanile
import Foundation

/// The notifications of one name, decoded as values, as the base of a signal.
final class DecodedNotifications<Element: Sendable>: SignalBase {
  private let notifications: PostedNotifications
  private let descriptor: NotificationDescriptor<Element>
  private let onFailure: (@Sendable (NotificationDecodingFailure) -> Void)?

  init(
    _ notifications: PostedNotifications, _ descriptor: NotificationDescriptor<Element>,
    _ onFailure: (@Sendable (NotificationDecodingFailure) -> Void)?
  ) {
    self.notifications = notifications
    self.descriptor = descriptor
    self.onFailure = onFailure
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    let name = descriptor.name
    let place = request.location
    // The observer keeps the use. When the last use is released, nothing is decoded any more.
    let use = notifications.hub.codecs.use(descriptor.codec, of: name)
    let onFailure = onFailure
    // Checked where the notification is posted. A failure passes, to be reported where the observer
    // runs.
    var selection: ObserverBody<PostedNotification>.Selection?
    if let isWanted = body.isWanted {
      selection = { notification, post in
        switch use.decoded(notification) {
        case .success(let value): (value as? Element).map { isWanted($0, post) } ?? false
        case .failure: true
        case nil: false
        }
      }
    }
    let mapped = body.mapped(once: request.takeOptions().isOnce, where: selection) {
      notification, _, pass in
      switch use.decoded(notification) {
      case .success(let value):
        // A codec is identified by the type or the object that decodes an `Element`.
        if let value = value as? Element { try pass(value) }
      case .failure(let error):
        let failure = NotificationDecodingFailure(
          name: name, valueType: Element.self, error: error, file: place.fileName, line: place.line)
        failure.report(to: onFailure)
      case nil:
        // The post began before this observer was registered.
        break
      }
    }
    return notifications.register(request, mapped, isReader: false)
  }
}
