/// The most common observations: the messages of one type, about any subject.
///
/// All others have a source: ``messages(of:)``, ``messages(of:about:)``, ``latest(of:)``,
/// ``anyMessage``.
extension MessageCenter {
  /// Observes the messages of a type until the token is released.
  ///
  /// - Parameters:
  ///   - type: The type of the messages.
  ///   - delivery: Where the observer runs; on the poster's thread by default.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with one message at a time, in the order of the posts.
  /// - Returns: A token that ends the observation when it is released.
  public func observe<M: Message>(
    _ type: M.Type, on delivery: Delivery = .immediate,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: consuming @escaping @Sendable (M) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest(
      on: delivery, CallSite(file: file, line: line), options.settings)
    return ObservationToken(
      register(request, ObserverBody(observer)))
  }

  /// Observes the messages of a type until the owner ends; the observer receives the owner.
  ///
  /// The owner is held weakly, and kept alive during each call. Once its `deinit` has begun, no call
  /// begins, not even a queued one. An owner without other references ends the observation at once.
  /// The other parameters are those of the form without an owner.
  ///
  /// - Returns: A handle that can end the observation earlier; its release does not.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, owner: Owner, on delivery: Delivery = .immediate,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery, CallSite(file: file, line: line), options.settings)
    return register(request, ObserverBody(owner, observer))
  }

  /// Observes the messages of a type on the main actor until the token is released.
  ///
  /// With `.main`, the observer runs inline if the poster is on the main actor and nothing waits
  /// there. The other parameters are those of the form that takes a ``Delivery``.
  ///
  /// - Returns: A token that ends the observation when it is released.
  public func observe<M: Message>(
    _ type: M.Type, on delivery: MainDelivery,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (M) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest(
      on: delivery.delivery, CallSite(file: file, line: line), options.settings)
    return ObservationToken(
      register(request, ObserverBody(onMain: observer)))
  }

  /// Observes the messages of a type on the main actor until the owner ends; the observer receives
  /// the owner.
  ///
  /// The owner is held as in the form that takes a ``Delivery``. Everything else is as in the form
  /// without an owner.
  ///
  /// - Returns: A handle that can end the observation earlier; its release does not.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, owner: Owner, on delivery: MainDelivery,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery.delivery, CallSite(file: file, line: line), options.settings)
    return register(
      request, ObserverBody(owner, onMain: observer))
  }

  /// Observes the messages of a type on an actor until the actor ends; the observer is isolated to
  /// it.
  ///
  /// The actor is the owner, and is held weakly. Deliveries always queue, and run one at a time;
  /// `buffering` says how many messages wait for an actor that is behind. The other parameters are
  /// those of the form with a ``Delivery``.
  ///
  /// - Returns: A handle that can end the observation earlier; its release does not.
  @discardableResult
  public func observe<M: Message, Instance: Actor>(
    _ type: M.Type, on instance: Instance, buffering: Buffering = .unbounded,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      on: instance, buffering, CallSite(file: file, line: line), options.settings)
    return register(
      request, ObserverBody(isolatedTo: instance, observer))
  }
}

extension MessageCenter: MessageSource {
  /// Registers an observer of the messages of a type, about a subject or about any.
  @inline(never)
  func register<M: Sendable>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<M>,
    about subject: SubjectName? = nil
  ) -> Registration {
    request.register(body, with: registry) {
      let topic = topics.makeList(of: M.self, registry, $1)
      return if let subject { topic.list(about: subject, &$0, $1) } else { topic }
    } ?? wildcard.ended
  }
}

/// Overloads with a subject, so that the compiler's error says where to pass it.
extension MessageCenter {
  /// A source names the subject.
  @available(
    *, unavailable, message: "Name the subject first: messages(of: type, about: subject).observe"
  )
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?, on delivery: Delivery = .immediate,
    options: ObservationOptions<Messages<M>> = .init(), _ observer: (M) throws -> Void
  ) -> ObservationToken { fatalError("An unavailable function was called") }

  /// A source names the subject.
  @available(
    *, unavailable, message: "Name the subject first: messages(of: type, about: subject).observe"
  )
  @discardableResult
  public func observe<M: Message, Owner: AnyObject>(
    _ type: M.Type, about subject: M.Subject?, owner: Owner, on delivery: Delivery = .immediate,
    options: ObservationOptions<Messages<M>> = .init(), _ observer: (Owner, M) throws -> Void
  ) -> Registration { fatalError("An unavailable function was called") }
}
