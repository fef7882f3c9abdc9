public import Campanile
import Foundation

/// The notifications of a center: of one name or all, about one object or any.
///
/// ```swift
/// center.notifications(of: .trackChanged).observe(owner: screen, on: .main) {
///   screen, notification in
///   screen.title = notification["title"] ?? ""
/// }
/// for await notification in center.notifications(of: .trackChanged)
///   .values(buffering: .newest(8)) { … }
/// ```
///
/// It is a value, which you can store, send to another thread, and observe any number of times.
///
/// It keeps its center alive, but its observations do not, and neither keeps the object.
public struct NotificationSource: ObservationSource {
  /// The values that observers receive.
  public typealias Element = PostedNotification

  let base: PostedNotifications

  /// All notifications of `center`.
  package init(keeping center: any ObservableNotificationCenter, hub: NotificationHub) {
    base = PostedNotifications(center, hub, nil, nil)
  }

  private init(_ base: PostedNotifications) { self.base = base }

  /// The notifications of one name and about one object, if these are given.
  func narrowed(to name: Notification.Name?, _ object: OwnerReference<AnyObject>?) -> Self {
    Self(PostedNotifications(base.center, base.hub, name, object))
  }

  /// The notifications, as a signal.
  public var signal: Signal<PostedNotification> { Signal(base: base) }
}

extension NotificationSource: Traceable {
  /// A view of the events and the live observations of the center that Campanile knows of, for all
  /// names; see ``ObservableNotificationCenter/events``.
  public var inspection: SourceInspection {
    base.hub.lasting().topics.keys.inspection
  }
}

extension PostedNotification: EventNaming {
  package var eventName: String { name.rawValue }
}

/// The notifications of a center, as the base of a signal.
final class PostedNotifications: SignalBase {
  typealias Element = PostedNotification

  /// The center.
  ///
  /// The observations end with it.
  let center: any ObservableNotificationCenter
  let hub: NotificationHub
  private let name: Notification.Name?
  private let object: OwnerReference<AnyObject>?

  init(
    _ center: any ObservableNotificationCenter, _ hub: NotificationHub, _ name: Notification.Name?,
    _ object: OwnerReference<AnyObject>?
  ) {
    self.center = center
    self.hub = hub
    self.name = name
    self.object = object
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<PostedNotification>
  ) -> Registration {
    register(request, body, isReader: true)
  }

  /// - Parameter isReader: Whether the observer reads more than the decoded values.
  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<PostedNotification>,
    isReader: Bool
  ) -> Registration {
    hub.register(request, body, of: name, about: object.map { $0.object }, isReader: isReader)
  }
}

/// A source isn't a sequence: `values()` makes one, with a buffer of your choice.
@available(*, unavailable, message: "Read the notifications of a source by its values()")
extension NotificationSource: AsyncSequence {
  /// Unavailable: use `values()`.
  public typealias AsyncIterator = ValueSequence<PostedNotification>.Iterator

  /// Unavailable: use `values()`.
  public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}
