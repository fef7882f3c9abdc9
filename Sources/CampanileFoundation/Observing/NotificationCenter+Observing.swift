public import Campanile
public import Foundation

/// Observing the notifications of a center by name, or of all names.
///
/// The forms with an owner hold the owner weakly, hand it to the observer, keep it alive for the
/// length of the call, and end with it; the forms without return a token that ends the observation
/// when it is released. About `object` see ``notifications(of:object:)``.
///
/// The observers of one name, of whatever object, are called in the order in which they registered,
/// and hear nothing once they have ended, also not what was queued. What posts is never blocked by
/// another thread. Registering takes a few locks, each for a moment.
extension NotificationCenter {
  /// Observes until the token is released.
  public func observe<Object: AnyObject>(
    _ name: Notification.Name?, object: Object?? = AnyObject??.none,
    on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: name, object: object).observe(
      on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes until the owner ends; the owner is handed to the observer.
  @discardableResult
  public func observe<Object: AnyObject, Owner: AnyObject & Sendable>(
    _ name: Notification.Name?, object: Object?? = AnyObject??.none, owner: Owner,
    on delivery: Delivery = .immediate, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name, object: object).observe(
      owner: owner, on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes on the main actor until the token is released.
  public func observe<Object: AnyObject>(
    _ name: Notification.Name?, object: Object?? = AnyObject??.none, on delivery: MainDelivery,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: name, object: object).observe(
      on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes on the main actor until the owner ends; the owner is handed to the observer.
  @discardableResult
  public func observe<Object: AnyObject, Owner: AnyObject & Sendable>(
    _ name: Notification.Name?, object: Object?? = AnyObject??.none, owner: Owner,
    on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name, object: object).observe(
      owner: owner, on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes on an actor until the actor ends; the observer is isolated to it.
  @discardableResult
  public func observe<Object: AnyObject, Instance: Actor>(
    _ name: Notification.Name?, object: Object?? = AnyObject??.none, on instance: Instance,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name, object: object).observe(
      on: instance, buffering: buffering, options, file: file, line: line, observer)
  }
}
