/// The most common observations: the messages of one type, about any subject.
///
/// All others have a source: ``messages(of:)``, ``messages(of:about:)``, ``latest(of:)``,
/// ``anyMessage``.
extension MessageCenter {
  @inline(__always)
  private func register<M: Message>(
    _ owner: (any AnyObject & Sendable)?, _ delivery: Delivery, _ options: SourceOptions,
    _ file: StaticString, _ line: UInt, _ body: consuming ObserverBody<M>
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery, CallSite(file: file, line: line), options)
    return register(request, body)
  }

  /// Observes the messages of a type until the token is released.
  ///
  /// Everything is as in the form of ``ObservationSource`` with the same parameters, which says where
  /// and in which order the observer is called, and how the observation ends.
  public func observe<M: Message>(
    _ type: M.Type, on delivery: Delivery = .immediate,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: consuming @escaping @Sendable (M) throws -> Void
  ) -> ObservationToken {
    ObservationToken(register(nil, delivery, options.settings, file, line, ObserverBody(observer)))
  }

  /// Observes the messages of a type until the owner ends; the observer receives the owner.
  ///
  /// The owner is held weakly, and kept alive during each call. The result need not be kept. Everything
  /// else is as in the form of ``ObservationSource`` with the same parameters.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, owner: Owner, on delivery: Delivery = .immediate,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    register(owner, delivery, options.settings, file, line, ObserverBody(owner, observer))
  }

  /// Observes the messages of a type on the main actor until the token is released.
  ///
  /// Everything else is as in the form of ``ObservationSource`` with the same parameters.
  public func observe<M: Message>(
    _ type: M.Type, on delivery: MainDelivery,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (M) throws -> Void
  ) -> ObservationToken {
    let body = ObserverBody(onMain: observer)
    return ObservationToken(
      register(nil, delivery.delivery, options.settings, file, line, body))
  }

  /// Observes the messages of a type on the main actor until the owner ends; the observer receives
  /// the owner.
  ///
  /// Everything else is as in the form of ``ObservationSource`` with the same parameters.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, owner: Owner, on delivery: MainDelivery,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    let body = ObserverBody(owner, onMain: observer)
    return register(owner, delivery.delivery, options.settings, file, line, body)
  }

  /// Observes the messages of a type on an actor until the actor ends; the observer is isolated to
  /// it.
  ///
  /// The actor is the owner. `buffering` says how many messages wait for an actor that is behind.
  /// Everything else is as in the form of ``ObservationSource`` with the same parameters.
  @discardableResult
  public func observe<M: Message, Instance: Actor>(
    _ type: M.Type, on instance: Instance, buffering: Buffering = .unbounded,
    options: ObservationOptions<Messages<M>> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, M) throws -> Void
  ) -> Registration {
    let body = ObserverBody(isolatedTo: instance, observer)
    return register(
      instance, .actor(instance, buffering), options.settings, file, line, body)
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
