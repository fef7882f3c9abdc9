public import Campanile
public import Foundation

/// A center whose notifications are observed with owners, deliveries, types and sequences.
///
/// Foundation's center is one, and so is the center of `CampanileNotificationCenter` that replaces
/// it in a file. Both have the same methods, with the same meaning:
///
/// ```swift
/// center.observe(.trackChanged, owner: screen, on: .main) { screen, notification in
///   screen.title = notification["title"] ?? ""
/// }
/// ```
///
/// ## Behavior
///
/// The forms with an owner hold the owner weakly and end with it. They hand the owner to the
/// observer, and keep it alive for the length of the call. The forms without an owner return a
/// token, whose release ends the observation. About `object` see `notifications(of:object:)`.
///
/// The observers of one name, of whatever object, are called in the order in which they registered.
/// An observer that has ended hears nothing, also not what was queued. The poster is never blocked
/// by another thread. Registering takes a few locks, each for a moment.
///
/// Where an observer asks for a type or a ``NotificationDescriptor``, the notification is decoded
/// once for each post, on the thread that posts. ``NotificationDescriptor`` tells about failures.
public protocol ObservableNotificationCenter: AnyObject, Sendable {
  /// Everything that is posted here, as a source.
  var allNotifications: NotificationSource { get }

  /// Posts a notification.
  func post(_ notification: Notification)
}

extension NotificationCenter: ObservableNotificationCenter {
  /// Everything that is posted here, as a source.
  public var allNotifications: NotificationSource {
    NotificationSource(keeping: self, hub: .of(self))
  }
}

extension ObservableNotificationCenter {
  /// The notifications of one name, or of any, whatever they are about.
  ///
  /// - Parameter name: The name, or `nil` for all names.
  public func notifications(of name: Notification.Name?) -> NotificationSource {
    allNotifications.narrowed(to: name, SubjectReference(nil))
  }

  /// The notifications of one name, or of any, about one object.
  ///
  /// Unwrap an object that you hold weakly first: if it is `nil`, there is nothing to observe.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - object: The instance that the notifications are to be about, compared by identity and not
  ///     kept alive.
  public func notifications(
    of name: Notification.Name?, object: AnyObject
  ) -> NotificationSource {
    allNotifications.narrowed(to: name, SubjectReference(object))
  }

  /// What Foundation's way to say "of every object" becomes: nothing.
  @available(*, unavailable, message: "Leave out 'object:' to observe whatever the object is")
  public func notifications(of name: Notification.Name?, object: ()?) -> NotificationSource {
    notifications(of: name)
  }

  /// Not for an object that may be `nil`.
  @available(
    *, unavailable,
    message: "Unwrap the object first; leave out 'object:' to observe whatever the object is"
  )
  @_disfavoredOverload
  public func notifications(
    of name: Notification.Name?, object: AnyObject?
  ) -> NotificationSource { notifications(of: name) }

  /// Ends the observations of this center that `owner` bounds.
  ///
  /// ```swift
  /// center.removeObservers(ownedBy: screen)
  /// center.removeObservers(ownedBy: screen, of: .trackChanged)
  /// center.removeObservers(ownedBy: screen, of: .trackChanged, object: player)
  /// ```
  ///
  /// Where a name is given, those of that name end, of any object; where an object is given, those
  /// about that object. Safe from any thread and from inside an observer; to end what has ended
  /// does nothing. Observers that were added with `addObserver(forName:object:queue:using:)` are
  /// left as they are.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(
    ownedBy owner: AnyObject, of name: Notification.Name? = nil, object: AnyObject? = nil
  ) {
    let topics = allNotifications.base.hub.topics
    topics.removeObservers(ownedBy: owner, of: name?.rawValue, about: object)
  }

  /// What happens at this center with the observations that Campanile knows of, to be observed at
  /// any time; see `MessageCenter/events`.
  ///
  /// A notification of Foundation's center that nobody observes through Campanile is no event.
  public var events: Signal<SourceEvent> { allNotifications.events }

  /// The live observations of this center that Campanile knows of, oldest first.
  ///
  /// For debugging. Foundation does not tell of the observers that were added in its own way; the
  /// replacement lists them too.
  public var registrations: [RegistrationDescription] {
    allNotifications.base.hub.topics.registrations
  }
}
