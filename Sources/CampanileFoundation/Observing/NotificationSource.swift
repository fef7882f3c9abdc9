public import Campanile
import Foundation

/// The notifications of a center, of one name or of any, about one object or about whatever.
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
/// It is a value: keep it, send it to another thread, observe it as often as you like. It keeps its
/// center, and its observations do not. Neither keeps the object.
public struct NotificationSource: ObservationSource {
  /// What observers are given.
  public typealias Element = PostedNotification

  let base: PostedNotifications

  /// Everything that is posted in `center`.
  package init(keeping center: any AnyObject & Sendable, hub: NotificationHub) {
    base = PostedNotifications(center, hub, nil, SubjectReference(nil))
  }

  private init(_ base: PostedNotifications) { self.base = base }

  /// The notifications of one name about one object, where those are given.
  func narrowed(to name: Notification.Name?, _ object: SubjectReference<AnyObject>) -> Self {
    Self(PostedNotifications(base.center, base.hub, name, object))
  }

  /// The notifications, as a signal.
  public var signal: Signal<PostedNotification> { Signal(base: base) }
}

extension NotificationSource: Traceable, ValueDescribing {
  /// What happens at the center, whatever the name; see ``ObservableNotificationCenter/events``.
  public var events: Signal<SourceEvent> { base.hub.topics.events }

  /// The live observations of the center that Campanile knows of, oldest first, whatever the name.
  public var registrations: [RegistrationDescription] { base.hub.topics.registrations }

  /// What a trace calls the center.
  public var traceName: String { "NotificationCenter" }

  /// Reads the live observations for as long as the center lives.
  public var registrationsReader: @Sendable () -> [RegistrationDescription] {
    { [weak hub = base.hub] in hub?.topics.registrations ?? [] }
  }

  package var valueWish: ValueWish { base.hub.topics.valueWish }
}

extension PostedNotification: EventNaming {
  package var eventName: String { name.rawValue }
}

/// The notifications of a center, as what a signal is of.
final class PostedNotifications: SignalBase {
  typealias Element = PostedNotification

  /// The center, whose end would be the end of the observations.
  let center: any AnyObject & Sendable
  let hub: NotificationHub
  private let name: Notification.Name?
  private let object: SubjectReference<AnyObject>

  init(
    _ center: any AnyObject & Sendable, _ hub: NotificationHub, _ name: Notification.Name?,
    _ object: SubjectReference<AnyObject>
  ) {
    self.center = center
    self.hub = hub
    self.name = name
    self.object = object
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<PostedNotification>,
    _ options: SourceOptions<PostedNotification>
  ) -> Registration {
    register(request, body, once: options.isOnce, isReader: true)
  }

  /// - Parameter isReader: whether the observer reads more than what was decoded.
  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<PostedNotification>,
    once isOnce: Bool, isReader: Bool
  ) -> Registration {
    hub.register(
      request, body, of: name, about: object.current, once: isOnce, isReader: isReader)
  }

  /// Finds the notifications later, if their center is still there.
  var weakly: @Sendable () -> PostedNotifications? {
    { [weak center, weak hub, name, object] in
      guard let center, let hub else { return nil }
      return PostedNotifications(center, hub, name, object)
    }
  }

  var reference: @Sendable () -> (any SignalBase<PostedNotification>)? { weakly }
}

/// A source isn't a sequence: `values()` makes one, with the buffer that you choose.
@available(*, unavailable, message: "Read the notifications of a source by its values()")
extension NotificationSource: AsyncSequence {
  /// What would read the source.
  public typealias AsyncIterator = ValueSequence<PostedNotification>.Iterator

  /// Begins to read.
  public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}
