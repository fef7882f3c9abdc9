public import Campanile
public import Foundation

/// Observing the notifications of a descriptor.
///
/// The forms with an owner hold the owner weakly, hand it to the observer, keep it alive for the
/// length of the call, and end with it; the forms without return a token that ends the observation
/// when it is released. A notification is decoded once for each post, on the thread that posts;
/// ``NotificationDescriptor`` tells about failures.
///
/// The observers of one name, of whatever object, are called in the order in which they registered,
/// and hear nothing once they have ended, also not what was queued. What posts is never blocked by
/// another thread. Registering takes a few locks, each for a moment.
extension NotificationCenter {
  /// Observes until the token is released.
  public func observe<Object: AnyObject, Value: Sendable>(
    _ descriptor: NotificationDescriptor<Value>, object: Object?? = AnyObject??.none,
    on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil,
    _ observer: @escaping @Sendable (Value) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: descriptor, object: object, onFailure: onFailure).observe(
      on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes until the owner ends; the owner is handed to the observer.
  @discardableResult
  public func observe<Object: AnyObject, Value: Sendable, Owner: AnyObject & Sendable>(
    _ descriptor: NotificationDescriptor<Value>, object: Object?? = AnyObject??.none, owner: Owner,
    on delivery: Delivery = .immediate, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil,
    _ observer: @escaping @Sendable (Owner, Value) throws -> Void
  ) -> Registration {
    notifications(of: descriptor, object: object, onFailure: onFailure).observe(
      owner: owner, on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes on the main actor until the token is released.
  public func observe<Object: AnyObject, Value: Sendable>(
    _ descriptor: NotificationDescriptor<Value>, object: Object?? = AnyObject??.none,
    on delivery: MainDelivery,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil,
    _ observer: @escaping @MainActor @Sendable (Value) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: descriptor, object: object, onFailure: onFailure).observe(
      on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes on the main actor until the owner ends; the owner is handed to the observer.
  @discardableResult
  public func observe<Object: AnyObject, Value: Sendable, Owner: AnyObject & Sendable>(
    _ descriptor: NotificationDescriptor<Value>, object: Object?? = AnyObject??.none, owner: Owner,
    on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil,
    _ observer: @escaping @MainActor @Sendable (Owner, Value) throws -> Void
  ) -> Registration {
    notifications(of: descriptor, object: object, onFailure: onFailure).observe(
      owner: owner, on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes on an actor until the actor ends; the observer is isolated to it.
  @discardableResult
  public func observe<Object: AnyObject, Value: Sendable, Instance: Actor>(
    _ descriptor: NotificationDescriptor<Value>, object: Object?? = AnyObject??.none,
    on instance: Instance,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    onFailure: (@Sendable (NotificationDecodingFailure) -> Void)? = nil,
    _ observer: @escaping @Sendable (isolated Instance, Value) throws -> Void
  ) -> Registration {
    notifications(of: descriptor, object: object, onFailure: onFailure).observe(
      on: instance, buffering: buffering, options, file: file, line: line, observer)
  }
}
