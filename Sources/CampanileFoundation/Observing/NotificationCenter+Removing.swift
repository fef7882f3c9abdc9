public import Campanile
public import Foundation

extension NotificationCenter {
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
  /// does nothing. Observers that were added in Foundation's own way are left as they are.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(
    ownedBy owner: AnyObject, of name: Notification.Name? = nil, object: AnyObject? = nil
  ) {
    NotificationHub.existing(self)?.topics.removeObservers(
      ownedBy: owner, of: name?.rawValue, about: object)
  }

  /// The live observations of this center that were made with this package, oldest first.
  ///
  /// For debugging. Foundation does not tell of others.
  public var registrations: [RegistrationDescription] {
    NotificationHub.existing(self)?.topics.registrations ?? []
  }
}
