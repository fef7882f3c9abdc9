public import Campanile
public import Foundation

/// A center whose notifications can be observed with owners, deliveries, types and sequences.
///
/// Foundation's center conforms, and so does the center of `CampanileNotificationCenter` that
/// replaces it in a file. Both have the same methods, with the same behavior:
///
/// ```swift
/// center.observe(.trackChanged, owner: screen, on: .main) { screen, notification in
///   screen.title = notification["title"] ?? ""
/// }
/// ```
///
/// ## Behavior
///
/// The forms with an owner hold the owner weakly and end with it. They pass the owner to the
/// observer, and keep it alive during the call. The forms without an owner return a token, whose
/// release ends the observation. To observe notifications about one object, use
/// `notifications(of:object:)`.
///
/// The observers of one name, with any object, are called in the order in which they registered. An
/// observer that has ended is not called again, not even for queued notifications. No other thread
/// blocks the poster. Registering takes a few locks, each for a moment.
///
/// If observers ask for a type or a ``NotificationDescriptor``, the notification is decoded once
/// for each post, on the posting thread. ``NotificationDescriptor`` describes failures.
public protocol ObservableNotificationCenter: AnyObject, Sendable {
  /// All notifications that are posted here, as a source.
  var allNotifications: NotificationSource { get }

  /// Posts a notification.
  func post(_ notification: Notification)
}

extension NotificationCenter: ObservableNotificationCenter {
  /// All notifications that are posted here, as a source.
  public var allNotifications: NotificationSource {
    NotificationSource(keeping: self, hub: .of(self))
  }
}

extension ObservableNotificationCenter {
  /// The notifications of one name, or of all names, about any object.
  ///
  /// - Parameter name: The name, or `nil` for all names.
  public func notifications(of name: Notification.Name?) -> NotificationSource {
    allNotifications.narrowed(to: name, nil)
  }

  /// The notifications of one name, or of all names, about one object.
  ///
  /// If you hold the object weakly, unwrap it first; if it is `nil`, there is nothing to observe.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - object: The object of the notifications. It is compared by identity and not kept alive.
  public func notifications(
    of name: Notification.Name?, object: AnyObject
  ) -> NotificationSource {
    allNotifications.narrowed(to: name, OwnerReference(object))
  }

  /// Unavailable: leave out `object:` to observe notifications about any object.
  @available(*, unavailable, message: "Leave out 'object:' to observe whatever the object is")
  public func notifications(of name: Notification.Name?, object: ()?) -> NotificationSource {
    notifications(of: name)
  }

  /// Unavailable for an object that may be `nil`.
  @available(
    *, unavailable,
    message: "Unwrap the object first; leave out 'object:' to observe whatever the object is"
  )
  @_disfavoredOverload
  public func notifications(
    of name: Notification.Name?, object: AnyObject?
  ) -> NotificationSource { notifications(of: name) }

  /// Ends the observations of this center that `owner` owns.
  ///
  /// ```swift
  /// center.removeObservers(ownedBy: screen)
  /// center.removeObservers(ownedBy: screen, of: .trackChanged)
  /// center.removeObservers(ownedBy: screen, of: .trackChanged, object: player)
  /// ```
  ///
  /// With a name, only the observations of that name end, with any object. With an object, only the
  /// observations of that object end. Observers that were added with
  /// `addObserver(forName:object:queue:using:)` are not affected, but the methods of `owner` that
  /// observe the center of `CampanileNotificationCenter` are removed too. Safe to call from any
  /// thread and from inside an observer. Without such observations, this has no effect.
  ///
  /// - Parameters:
  ///   - owner: The owner of the observations.
  ///   - name: The name. `nil` selects the observations of every name, so unwrap an optional first.
  ///   - object: The object. `nil` selects the observations of every object, so unwrap an optional
  ///     first.
  /// - Complexity: O(*n*) in the number of observations of that owner.
  public func removeObservers(
    ownedBy owner: AnyObject, of name: Notification.Name? = nil, object: AnyObject? = nil
  ) {
    let topics = allNotifications.base.hub.topics
    topics.keys.removeObservers(ownedBy: owner, of: name?.rawValue, about: object)
  }

  /// Reports the posts, calls and registrations of this center that Campanile knows of.
  ///
  /// Observe this signal at any time; see `Traceable/events`. The observations end with the
  /// center. A notification of Foundation's center without observers through Campanile causes no
  /// event. That center calls a block for the observers of a name and another block for the
  /// observers of all names, and each of these calls is reported as a post.
  public var events: Signal<SourceEvent> { allNotifications.events }

  /// The live observations of this center that Campanile knows of, oldest first.
  ///
  /// Use it for debugging. Observers that were added through Foundation's API are not listed,
  /// because Foundation does not expose them. The replacement center lists them too.
  public var registrations: [RegistrationDescription] {
    allNotifications.base.hub.topics.keys.registrations
  }
}
