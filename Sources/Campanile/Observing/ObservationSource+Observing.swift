extension ObservationSource {
  @inline(__always)
  private func register(
    _ owner: (any AnyObject & Sendable)?, _ delivery: Delivery, _ options: SourceOptions,
    _ file: StaticString, _ line: UInt, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery, CallSite(file: file, line: line), options)
    return register(request, body)
  }

  // Apart: a signal that waits for the arguments would need its metadata.
  @inline(never)
  private func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    signal.register(request, body)
  }

  /// Observes until the token is released.
  ///
  /// - Parameters:
  ///   - delivery: Where the observer runs; on the sender's thread by default.
  ///   - options: `.once`; for a state also `.initial` and `.distinct`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: Called with one element at a time, in the order in which they were sent. With
  ///     `.immediate`, threads that send at once may call it at once. If it throws, the source's
  ///     `failures` report the error, and the other observers are still called.
  /// - Returns: A token that ends the observation when it is released. If the source has finished,
  ///   the observation has already ended.
  public func observe(
    on delivery: Delivery = .immediate,
    options: ObservationOptions<Self> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: consuming @escaping @Sendable (Element) throws -> Void
  ) -> ObservationToken {
    ObservationToken(register(nil, delivery, options.settings, file, line, ObserverBody(observer)))
  }

  /// Observes until the owner ends; the observer receives the owner.
  ///
  /// The owner is held weakly, and kept alive during each call. Once its `deinit` has begun, no call
  /// begins, not even a queued one. An owner without other references ends the observation at once.
  /// The other parameters are those of the form without an owner.
  ///
  /// - Returns: A handle that can end the observation earlier; its release does not.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    owner: Owner, on delivery: Delivery = .immediate,
    options: ObservationOptions<Self> = .init(), file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Element) throws -> Void
  ) -> Registration {
    register(owner, delivery, options.settings, file, line, ObserverBody(owner, observer))
  }

  /// Observes on the main actor until the token is released.
  ///
  /// With `.main`, the observer runs inline if the sender is on the main actor and nothing waits
  /// there. Everything else is as in the form that takes a ``Delivery``.
  public func observe(
    on delivery: MainDelivery,
    options: ObservationOptions<Self> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Element) throws -> Void
  ) -> ObservationToken {
    let body = ObserverBody(onMain: observer)
    return ObservationToken(
      register(nil, delivery.delivery, options.settings, file, line, body))
  }

  /// Observes on the main actor until the owner ends; the observer receives the owner.
  ///
  /// Everything is as in the form without an owner, and in the form that takes a ``Delivery``.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    owner: Owner, on delivery: MainDelivery,
    options: ObservationOptions<Self> = .init(), file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, Element) throws -> Void
  ) -> Registration {
    let body = ObserverBody(owner, onMain: observer)
    return register(owner, delivery.delivery, options.settings, file, line, body)
  }

  /// Observes on an actor until the actor ends; the observer is isolated to it.
  ///
  /// The actor is the owner. Deliveries always queue, and run one at a time; `buffering` says how
  /// many elements wait for an actor that is behind. Everything else is as in the form that takes an
  /// owner and a ``Delivery``.
  @discardableResult
  public func observe<Instance: Actor>(
    on instance: Instance, buffering: Buffering = .unbounded,
    options: ObservationOptions<Self> = .init(),
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, Element) throws -> Void
  ) -> Registration {
    let body = ObserverBody(isolatedTo: instance, observer)
    return register(
      instance, .actor(instance, buffering), options.settings, file, line, body)
  }
}

/// Observing with a function that suspends.
extension ObservationSource {
  /// Observes asynchronously until the token is released, which cancels the running task.
  ///
  /// The observer has its own buffer; `buffering` says how many elements wait there for an observer
  /// that is behind. Its order relative to other observers is not promised. It is called in a task; a
  /// closure that begins with `@MainActor` runs on the main actor. As a call on the main actor begins in
  /// that task, code that runs there meanwhile, and ends the observation, can only cancel it. Everything
  /// else is as in the forms whose observers do not suspend.
  public func observeAsync(
    buffering: Buffering = .unbounded,
    options: ObservationOptions<Self> = .init(), file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Element) async throws -> Void
  ) -> ObservationToken {
    let body = ObserverBody(async: observer)
    return ObservationToken(
      register(nil, .asynchronous(buffering), options.settings, file, line, body))
  }

  /// Observes asynchronously until the owner ends; the observer receives the owner.
  ///
  /// The owner is kept alive during each call, so it cannot end during one. To cancel the running
  /// task, end the returned registration. Otherwise it is like
  /// ``observeAsync(buffering:options:file:line:_:)``.
  @discardableResult
  public func observeAsync<Owner: AnyObject & Sendable>(
    owner: Owner, buffering: Buffering = .unbounded,
    options: ObservationOptions<Self> = .init(), file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Element) async throws -> Void
  ) -> Registration {
    let body = ObserverBody(owner, async: observer)
    return register(owner, .asynchronous(buffering), options.settings, file, line, body)
  }

  /// The elements sent from now on, as an asynchronous sequence.
  ///
  /// The sequence observes from the moment it is made, before its first `next()`. It has one buffer,
  /// for one task at a time: make a sequence for each task that reads. It ends with the source, and
  /// ends at once in a canceled task. Releasing it ends its observation.
  ///
  /// - Parameters:
  ///   - buffering: How many elements wait for a task that is behind.
  ///   - options: `.once`, for a sequence of one element; for a state also `.initial` and
  ///     `.distinct`.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public func values(
    buffering: Buffering = .unbounded, options: ObservationOptions<Self> = .init(),
    file: StaticString = #fileID, line: UInt = #line
  ) -> ValueSequence<Element> {
    let request = ObservationRequest(CallSite(file: file, line: line), options.settings)
    return ValueSequence(signal.makeReader(SequenceBuffer(buffering), request))
  }
}
