public import Campanile
public import Foundation

/// The most common observation: the notifications of one name, about any object.
///
/// For all others, observe a source: ``notifications(of:)``, `notifications(of:object:)`, and the
/// sources by type and by descriptor.
extension ObservableNotificationCenter {
  /// Observes the notifications of a name until the token is released.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - delivery: Where the observer runs; on the posting thread by default.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with one notification at a time, in the order in which they were posted.
  ///     With `.immediate`, threads that post at once may call it at once. An error that it throws is
  ///     written to standard error. Other observers are still called.
  /// - Returns: A token that ends the observation when it is released.
  public func observe(
    _ name: Notification.Name?, on delivery: Delivery = .immediate,
    options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: name).observe(
      on: delivery, options: options, file: file, line: line, observer)
  }

  /// Observes the notifications of a name until the owner ends, and passes the owner to the
  /// observer.
  ///
  /// The owner is held weakly, and kept alive during each call. No call begins once the owner's
  /// `deinit` has begun, not even a queued one.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - owner: The object whose end ends the observation. It is not retained, so an object without
  ///     other references ends the observation at once.
  ///   - delivery: Where the observer runs; on the posting thread by default.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the owner and one notification at a time, in the order in which they
  ///     were posted. With `.immediate`, threads that post at once may call it at once. An error that
  ///     it throws is written to standard error. Other observers are still called.
  /// - Returns: A handle that can end the observation earlier; its release does not.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    _ name: Notification.Name?, owner: Owner, on delivery: Delivery = .immediate,
    options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name).observe(
      owner: owner, on: delivery, options: options, file: file, line: line,
      observer)
  }

  /// Observes the notifications of a name on the main actor until the token is released.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - delivery: `.main` runs the observer inline if the poster is on the main actor and no
  ///     delivery waits there. `.main(ordered: true)` always queues.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with one notification at a time, isolated to the main actor. An error
  ///     that it throws is written to standard error. Other observers are still called.
  /// - Returns: A token that ends the observation when it is released.
  public func observe(
    _ name: Notification.Name?, on delivery: MainDelivery,
    options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken {
    notifications(of: name).observe(
      on: delivery, options: options, file: file, line: line, observer)
  }

  /// Observes the notifications of a name on the main actor until the owner ends, and passes the
  /// owner to the observer.
  ///
  /// The owner is held weakly, and kept alive during each call. No call begins once the owner's
  /// `deinit` has begun, not even a queued one.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - owner: The object whose end ends the observation. It is not retained, so an object without
  ///     other references ends the observation at once.
  ///   - delivery: `.main` runs the observer inline if the poster is on the main actor and no
  ///     delivery waits there. `.main(ordered: true)` always queues.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the owner and one notification at a time, isolated to the main
  ///     actor. An error that it throws is written to standard error. Other observers are still
  ///     called.
  /// - Returns: A handle that can end the observation earlier; its release does not.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    _ name: Notification.Name?, owner: Owner, on delivery: MainDelivery,
    options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name).observe(
      owner: owner, on: delivery, options: options, file: file, line: line,
      observer)
  }

  /// Observes the notifications of a name on an actor until the actor ends.
  ///
  /// The observer is isolated to the actor.
  ///
  /// The actor is the owner, and is held weakly. Deliveries always queue, and run one at a time.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - instance: The actor.
  ///   - buffering: How many notifications wait for an actor that is behind.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with the actor and one notification at a time, isolated to the actor. An
  ///     error that it throws is written to standard error. Other observers are still called.
  /// - Returns: A handle that can end the observation earlier; its release does not.
  @discardableResult
  public func observe<Instance: Actor>(
    _ name: Notification.Name?, on instance: Instance, buffering: Buffering = .unbounded,
    options: ObservationOptions<NotificationSource> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, PostedNotification) throws -> Void
  ) -> Registration {
    notifications(of: name).observe(
      on: instance, buffering: buffering, options: options, file: file, line: line, observer)
  }
}

/// Overloads with Foundation's `object:` argument, so that the compiler's error says what to write
/// instead.
extension ObservableNotificationCenter {
  /// Unavailable: name the object with `notifications(of:object:)`.
  @available(
    *, unavailable,
    message:
      "Name the object first: notifications(of: name, object: object).observe; or leave it out"
  )
  public func observe(
    _ name: Notification.Name?, object: AnyObject?, on delivery: Delivery = .immediate,
    _ observer: (PostedNotification) throws -> Void
  ) -> Campanile.ObservationToken { fatalError("An unavailable function was called") }

  /// Unavailable: name the object with `notifications(of:object:)`.
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
