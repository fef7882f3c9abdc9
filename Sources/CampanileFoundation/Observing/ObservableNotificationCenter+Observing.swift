public import Campanile
public import Foundation

/// The question that is asked most: the notifications of one name, whatever they are about.
///
/// For every other one there is a source: ``notifications(of:)``, `notifications(of:object:)`, and
/// those by type and by descriptor.
extension ObservableNotificationCenter {
  /// Observes the notifications of a name until the token is released.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - delivery: Where the observer runs; on the poster's thread by default.
  ///   - buffering: How many notifications wait for an observer that is behind. Only for a delivery
  ///     that queues: with `.immediate`, a bound is a precondition failure.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called, with one notification at a time, in the order in which they were
  ///     posted. What it throws is written to standard error and stops nobody else.
  /// - Returns: A token that ends the observation when it is released.
  public func observe(
    _ name: Notification.Name?, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded, _ options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: name).observe(
      on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes the notifications of a name until the owner ends; the owner is handed to the observer.
  ///
  /// The owner is held weakly, and kept alive for the length of each call. No call begins once its
  /// `deinit` has begun, nor does one that was queued.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - owner: Whose end ends the observation.
  ///   - delivery: Where the observer runs; on the poster's thread by default.
  ///   - buffering: How many notifications wait for an observer that is behind. Only for a delivery
  ///     that queues: with `.immediate`, a bound is a precondition failure.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called, with the owner and one notification at a time, in the order in
  ///     which they were posted. What it throws is written to standard error and stops nobody else.
  /// - Returns: A handle that can end the observation earlier. Releasing it ends nothing.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    _ name: Notification.Name?, owner: Owner, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded, _ options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name).observe(
      owner: owner, on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes the notifications of a name on the main actor until the token is released.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - delivery: `.main`, inline where the poster is there already and nothing waits; or
  ///     `.main.ordered`, always queued.
  ///   - buffering: How many notifications wait for an observer that is behind.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called, isolated to the main actor. What it throws is written to standard
  ///     error and stops nobody else.
  /// - Returns: A token that ends the observation when it is released.
  public func observe(
    _ name: Notification.Name?, on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: name).observe(
      on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes the notifications of a name on the main actor until the owner ends; the owner is
  /// handed to the observer.
  ///
  /// The owner is held weakly, and kept alive for the length of each call. No call begins once its
  /// `deinit` has begun, nor does one that was queued.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - owner: Whose end ends the observation.
  ///   - delivery: `.main`, inline where the poster is there already and nothing waits; or
  ///     `.main.ordered`, always queued.
  ///   - buffering: How many notifications wait for an observer that is behind.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called with the owner, isolated to the main actor. What it throws is
  ///     written to standard error and stops nobody else.
  /// - Returns: A handle that can end the observation earlier. Releasing it ends nothing.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    _ name: Notification.Name?, owner: Owner, on delivery: MainDelivery,
    buffering: Buffering = .unbounded, _ options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name).observe(
      owner: owner, on: delivery, buffering: buffering, options, file: file, line: line, observer)
  }

  /// Observes the notifications of a name on an actor until the actor ends; the observer is isolated
  /// to it.
  ///
  /// The actor is the owner: it is held weakly. Deliveries always queue, and run one at a time.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - instance: The actor.
  ///   - buffering: How many notifications wait for an actor that is behind.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called with the actor, isolated to it. What it throws is written to
  ///     standard error and stops nobody else.
  /// - Returns: A handle that can end the observation earlier. Releasing it ends nothing.
  @discardableResult
  public func observe<Instance: Actor>(
    _ name: Notification.Name?, on instance: Instance, buffering: Buffering = .unbounded,
    _ options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name).observe(
      on: instance, buffering: buffering, options, file: file, line: line, observer)
  }
}

/// Foundation's way to name the object, so that the compiler says what it is called here.
extension ObservableNotificationCenter {
  /// A source names the object.
  @available(
    *, unavailable,
    message:
      "Name the object first: notifications(of: name, object: object).observe; or leave it out"
  )
  public func observe(
    _ name: Notification.Name?, object: AnyObject?, on delivery: Delivery = .immediate,
    _ observer: (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken { fatalError("An unavailable function was called") }

  /// A source names the object.
  @available(
    *, unavailable,
    message:
      "Name the object first: notifications(of: name, object: object).observe; or leave it out"
  )
  @discardableResult
  public func observe<Owner: AnyObject>(
    _ name: Notification.Name?, object: AnyObject?, owner: Owner,
    on delivery: Delivery = .immediate,
    _ observer: (Owner, PostedNotification) throws -> Void
  ) -> Registration { fatalError("An unavailable function was called") }
}
