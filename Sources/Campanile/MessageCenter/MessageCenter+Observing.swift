/// Observing messages of one type.
///
/// The forms with an owner hold the owner weakly, hand it to the observer, keep it alive for the
/// length of the call, and end with it; the forms without return a token that ends the observation
/// when it is released.
///
/// Where a subject is given, the observer hears the messages about that instance alone; the subject is
/// not kept alive, and its address is not taken for another's after its death. To hear of every
/// subject, leave it out: a variable that is `nil` names an instance that has gone, and its observer
/// hears nothing. (That is what the parameter's second optional tells apart.)
///
/// What an observer throws goes to the center's error handler and stops nobody else. Registering
/// takes a lock briefly and costs the same however many observers there are.
extension MessageCenter {
  private func register<M: Message>(
    _ request: ObservationRequest<M>, about subject: M.Subject??, _ options: ObservationOptions
  ) -> Registration {
    let ended = Registration(list: wide, id: 0, counters: nil)
    var request = request
    if case .some(.none) = subject {
      // Nothing more comes about an instance that has gone.
      if case .reader(_, let onEnd) = request.body {
        // A sequence stays silent, and ends with the center.
        request.body = .reader({ _ in }, onEnd: onEnd)
      } else {
        return ended
      }
    }
    let subject = subject ?? nil
    request.isOnce = options.contains(.once)
    let registration = request.register(with: registry, subject: subject) { garbage in
      let topic = topics.makeList(of: M.self, registry)
      guard let subject else { return topic }
      return topic.subjects.makeList(about: subject, &garbage)
    }
    // A center finishes with its last reference, which the caller has.
    return registration ?? ended
  }

  private func register<M: Message>(
    told request: ObservationRequest<Told<M>>, about subject: M.Subject??,
    _ options: ObservationOptions
  ) -> Registration {
    guard case .plain(let observer) = request.body else {
      preconditionFailure("An observer that is told the subject is a synchronous one")
    }
    let plain = ObservationRequest<M>(
      owner: request.owner, delivery: request.delivery, buffering: request.buffering,
      location: request.location,
      body: .told { message, subject in
        // The subject of a message of type M is an M.Subject: `post` takes no other.
        try observer(Told(message: message, subject: subject.map { $0 as! M.Subject }))
      })
    return register(plain, about: subject, options)
  }

  /// Observes until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (M) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest<M>(
      on: delivery, buffering, SourceLocation(file: file, line: line), observer)
    return ObservationToken(register(request, about: subject, options))
  }

  /// Observes until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: Delivery = .immediate, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest<M>(
      owner: owner, on: delivery, buffering, SourceLocation(file: file, line: line), observer)
    return register(request, about: subject, options)
  }

  /// Observes on the main actor until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: MainDelivery,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (M) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest<M>(
      on: delivery, buffering, SourceLocation(file: file, line: line), observer)
    return ObservationToken(register(request, about: subject, options))
  }

  /// Observes on the main actor until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest<M>(
      owner: owner, on: delivery, buffering, SourceLocation(file: file, line: line), observer)
    return register(request, about: subject, options)
  }

  /// Observes on an actor until the actor ends; the observer is isolated to it.
  @discardableResult
  public func observe<M: Message, Instance: Actor>(
    _ type: M.Type, about subject: M.Subject?? = .none, on instance: Instance,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest<M>(
      on: instance, buffering, SourceLocation(file: file, line: line), observer)
    return register(request, about: subject, options)
  }

  /// Observes, told what each message is about, until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (M, M.Subject?) throws -> Void
  ) -> ObservationToken where M.Subject: Sendable {
    let request = ObservationRequest<Told<M>>(
      on: delivery, buffering, SourceLocation(file: file, line: line)
    ) {
      try observer($0.message, $0.subject)
    }
    return ObservationToken(register(told: request, about: subject, options))
  }

  /// Observes, told what each message is about, until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: Delivery = .immediate, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M, M.Subject?) throws -> Void
  ) -> Registration where M.Subject: Sendable {
    let request = ObservationRequest<Told<M>>(
      owner: owner, on: delivery, buffering, SourceLocation(file: file, line: line)
    ) {
      try observer($0, $1.message, $1.subject)
    }
    return register(told: request, about: subject, options)
  }

  /// Observes, told what each message is about, on the main actor until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: MainDelivery,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (M, M.Subject?) throws -> Void
  ) -> ObservationToken where M.Subject: Sendable {
    let request = ObservationRequest<Told<M>>(
      on: delivery, buffering, SourceLocation(file: file, line: line)
    ) {
      try observer($0.message, $0.subject)
    }
    return ObservationToken(register(told: request, about: subject, options))
  }

  /// Observes, told what each message is about, on the main actor until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, M, M.Subject?) throws -> Void
  ) -> Registration where M.Subject: Sendable {
    let request = ObservationRequest<Told<M>>(
      owner: owner, on: delivery, buffering, SourceLocation(file: file, line: line)
    ) {
      try observer($0, $1.message, $1.subject)
    }
    return register(told: request, about: subject, options)
  }

  /// Observes, told what each message is about, on an actor until the actor ends; the observer is isolated to it.
  @discardableResult
  public func observe<M: Message, Instance: Actor>(
    _ type: M.Type, about subject: M.Subject?? = .none, on instance: Instance,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, M, M.Subject?) throws -> Void
  ) -> Registration where M.Subject: Sendable {
    let request = ObservationRequest<Told<M>>(
      on: instance, buffering, SourceLocation(file: file, line: line)
    ) {
      try observer($0, $1.message, $1.subject)
    }
    return register(told: request, about: subject, options)
  }

  /// Observes asynchronously until the token is released, which cancels the task that runs.
  ///
  /// Each observer has a buffer of its own; its order relative to other observers is not promised.
  public func observeAsync<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, execution: AsyncExecution = .oneAtATime,
    buffering: Buffering = .unbounded, _ options: ObservationOptions = [],
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (M) async throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest<M>(
      execution, buffering, SourceLocation(file: file, line: line), observer)
    return ObservationToken(register(request, about: subject, options))
  }

  /// Observes asynchronously until the owner ends; the owner lives for the length of each call.
  @discardableResult
  public func observeAsync<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    execution: AsyncExecution = .oneAtATime, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M) async throws -> Void
  ) -> Registration {
    let request = ObservationRequest<M>(
      owner: owner, execution, buffering, SourceLocation(file: file, line: line), observer)
    return register(request, about: subject, options)
  }

  /// The messages of a type as an asynchronous sequence.
  ///
  /// It hears from the moment it is made, before its first `next()`. It can be read many times: each
  /// reader has a buffer of its own, which begins with the reader, the first reader's with the
  /// sequence. It ends with the center, and at once in a cancelled task. A sequence about a subject
  /// that has died stays silent; it ends with the subject if that carries a ``Lifetime``. Releasing it
  /// ends its observation.
  public func messages<M: Message>(
    of type: M.Type, about subject: M.Subject?? = .none, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line
  ) -> ValueSequence<M> {
    let location = SourceLocation(file: file, line: line)
    let reference = SubjectReference(subject)
    return ValueSequence<M> { [weak self] counters in
      let buffer = SequenceBuffer<M>(buffering, counters)
      let request = ObservationRequest<M>(
        owner: nil, delivery: .immediate, buffering: .unbounded, location: location,
        body: .reader({ buffer.append($0) }, onEnd: { buffer.finish() }))
      guard let self else {
        buffer.finish()
        return ValueSequence.Reader(buffer, nil)
      }
      return ValueSequence.Reader(buffer, self.register(request, about: reference.current, []))
    }
  }
}

/// Observing every message, of whatever type.
extension MessageCenter {
  /// The messages of all types, in their place among the observers of each.
  private var everything: Everything { Everything(center: self) }

  private struct Everything: Followable {
    typealias Element = PostedMessage
    typealias Options = ObservationOptions
    let center: MessageCenter

    func _register(
      _ request: ObservationRequest<PostedMessage>, _ options: ObservationOptions
    ) -> Registration? {
      var request = request
      request.isOnce = options.contains(.once)
      return request.register(with: center.registry) { _ in center.wide }
    }

    var _ended: Registration { Registration(list: center.wide, id: 0, counters: nil) }
  }

  /// Everything that is posted here, to be observed like any other source.
  ///
  /// ```swift
  /// self.token = center.anyMessage.observe { print($0.message) }
  /// ```
  ///
  /// Observers of any message stand among those of single types in the order they registered. A
  /// center that has any makes one existential value for each post.
  public var anyMessage: some Followable<PostedMessage> { everything }
}
