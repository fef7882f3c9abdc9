/// Observing messages of one type.
///
/// The forms with an owner hold the owner weakly, hand it to the observer, keep it alive for the
/// length of the call, and end with it; the forms without return a token that ends the observation
/// when it is released.
///
/// Where a subject is given, the observer hears the messages about that instance alone; the subject
/// is not kept alive, and its address is not taken for another's after its death. To hear of every
/// subject, leave it out: a variable that is `nil` names an instance that has gone, and its
/// observer hears nothing. (That is what the parameter's second optional tells apart.)
///
/// What an observer throws goes to the center's error handler and stops nobody else. Registering
/// takes a lock briefly and costs the same however many observers there are.
extension MessageCenter {
  @inline(__always)
  private func register<M: Message>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<M>,
    about subject: M.Subject??, _ options: ObservationOptions
  ) -> Registration {
    request.isOnce = options.contains(.once)
    guard let subject else {
      let registration = request.register(body, with: registry) { _ in
        topics.destination(of: M.self, registry)
      }
      return registration ?? ended
    }
    guard let subject else { return registerSilent(request, body) ?? ended }
    let registration = request.register(body, with: registry, subject: subject) { _ in
      topics.destination(of: M.self, about: subject, registry)
    }
    return registration ?? ended
  }

  /// Registers about an instance that has gone, of which nothing more comes.
  ///
  /// - Returns: `nil`, unless it is a sequence, which stays silent and ends with the center.
  private func registerSilent<M: Message>(
    _ request: borrowing ObservationRequest, _ body: ObserverBody<M>
  ) -> Registration? {
    guard case .reader(_, let onEnd) = body.kind else { return nil }
    let silent = ObserverBody<M>(.reader({ _ in }, onEnd: onEnd))
    return request.register(silent, with: registry) { _ in
      topics.destination(of: M.self, registry)
    }
  }

  /// A registration that has ended.
  ///
  /// A center finishes with its last reference, so that what registers here comes in time.
  var ended: Registration { Registration(list: wide, id: 0, counters: nil) }

  /// Observes until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: consuming @escaping @Sendable (M) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest(
      on: delivery, buffering, SourceLocation(file: file, line: line))
    return ObservationToken(register(request, ObserverBody(observer), about: subject, options))
  }

  /// Observes until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: Delivery = .immediate, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery, buffering, SourceLocation(file: file, line: line))
    return register(request, ObserverBody(owner, observer), about: subject, options)
  }

  /// Observes on the main actor until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: MainDelivery,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (M) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest(
      on: delivery.delivery, buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody<M>(onMain: observer)
    return ObservationToken(register(request, body, about: subject, options))
  }

  /// Observes on the main actor until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery.delivery, buffering, SourceLocation(file: file, line: line))
    return register(request, ObserverBody(owner, onMain: observer), about: subject, options)
  }

  /// Observes on an actor until the actor ends; the observer is isolated to it.
  @discardableResult
  public func observe<M: Message, Instance: Actor>(
    _ type: M.Type, about subject: M.Subject?? = .none, on instance: Instance,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, M) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      on: instance, buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody(isolatedTo: instance, observer)
    return register(request, body, about: subject, options)
  }

  /// Observes, told what each message is about, until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: Delivery = .immediate,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (M, M.Subject?) throws -> Void
  ) -> ObservationToken where M.Subject: Sendable {
    let request = ObservationRequest(
      on: delivery, buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody<Told<M>> { try observer($0.message, $0.subject) }
    return ObservationToken(register(request, body.told(), about: subject, options))
  }

  /// Observes, told what each message is about, until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: Delivery = .immediate, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M, M.Subject?) throws -> Void
  ) -> Registration where M.Subject: Sendable {
    let request = ObservationRequest(
      owner: owner, on: delivery, buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody<Told<M>>(owner) { try observer($0, $1.message, $1.subject) }
    return register(request, body.told(), about: subject, options)
  }

  /// Observes, told what each message is about, on the main actor until the token is released.
  public func observe<M: Message>(
    _ type: M.Type, about subject: M.Subject?? = .none, on delivery: MainDelivery,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (M, M.Subject?) throws -> Void
  ) -> ObservationToken where M.Subject: Sendable {
    let request = ObservationRequest(
      on: delivery.delivery, buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody<Told<M>>(onMain: { try observer($0.message, $0.subject) })
    return ObservationToken(register(request, body.told(), about: subject, options))
  }

  /// Observes, told what each message is about, on the main actor until the owner ends.
  @discardableResult
  public func observe<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, M, M.Subject?) throws -> Void
  ) -> Registration where M.Subject: Sendable {
    let request = ObservationRequest(
      owner: owner, on: delivery.delivery, buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody<Told<M>>(
      owner, onMain: { try observer($0, $1.message, $1.subject) })
    return register(request, body.told(), about: subject, options)
  }

  /// Observes, told what each message is about, on an actor until the actor ends; the observer is
  /// isolated to it.
  @discardableResult
  public func observe<M: Message, Instance: Actor>(
    _ type: M.Type, about subject: M.Subject?? = .none, on instance: Instance,
    buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, M, M.Subject?) throws -> Void
  ) -> Registration where M.Subject: Sendable {
    let request = ObservationRequest(
      on: instance, buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody<Told<M>>(isolatedTo: instance) {
      try observer($0, $1.message, $1.subject)
    }
    return register(request, body.told(), about: subject, options)
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
    let request = ObservationRequest(buffering, SourceLocation(file: file, line: line))
    let body = ObserverBody(execution, observer)
    return ObservationToken(register(request, body, about: subject, options))
  }

  /// Observes asynchronously until the owner ends; the owner lives for the length of each call.
  @discardableResult
  public func observeAsync<M: Message, Owner: AnyObject & Sendable>(
    _ type: M.Type, about subject: M.Subject?? = .none, owner: Owner,
    execution: AsyncExecution = .oneAtATime, buffering: Buffering = .unbounded,
    _ options: ObservationOptions = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, M) async throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, buffering, SourceLocation(file: file, line: line))
    return register(request, ObserverBody(owner, execution, observer), about: subject, options)
  }

  /// The messages of a type as an asynchronous sequence.
  ///
  /// It hears from the moment it is made, before its first `next()`. It can be read many times:
  /// each reader has a buffer of its own, which begins with the reader, the first reader's with the
  /// sequence. It ends with the center, and at once in a canceled task. A sequence about a subject
  /// that has died stays silent; it ends with the subject if that carries a ``Lifetime``. Releasing
  /// it ends its observation.
  public func messages<M: Message>(
    of type: M.Type, about subject: M.Subject?? = .none, buffering: Buffering = .unbounded,
    file: StaticString = #fileID, line: UInt = #line
  ) -> ValueSequence<M> {
    let location = SourceLocation(file: file, line: line)
    let reference = SubjectReference(subject)
    return ValueSequence<M> { [weak self] counters in
      let buffer = SequenceBuffer<M>(buffering, counters)
      let request = ObservationRequest(.unbounded, location)
      let body = ObserverBody<M>(.reader({ buffer.append($0) }, onEnd: { buffer.finish() }))
      guard let self else {
        buffer.finish()
        return ValueSequence.Reader(buffer, nil)
      }
      return ValueSequence.Reader(
        buffer, self.register(request, body, about: reference.current, []))
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
      _ request: consuming ObservationRequest, _ body: ObserverBody<PostedMessage>,
      _ options: ObservationOptions
    ) -> Registration? {
      request.isOnce = options.contains(.once)
      return request.register(body, with: center.registry) { _ in .list(center.wide) }
    }

    var _reference: @Sendable () -> Everything? {
      { [weak center] in center.map { Everything(center: $0) } }
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

extension ObserverBody {
  /// The same observer for a post, which names the subject beside the message.
  fileprivate func told<M>() -> ObserverBody<M> where Value == MessageCenter.Told<M> {
    guard case .plain(let observer) = kind else {
      preconditionFailure("An observer that is told the subject is a synchronous one")
    }
    return ObserverBody<M>(
      .told { message, subject in
        // The subject of a message of type M is an M.Subject: `post` takes no other.
        try observer(
          MessageCenter.Told(message: message, subject: subject.map { $0 as! M.Subject }))
      })
  }
}
