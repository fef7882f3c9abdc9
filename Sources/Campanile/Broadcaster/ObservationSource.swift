/// What ``Followable`` and ``FollowableValue`` have in common: the ways to observe.
///
/// Take and hand out one of those two; the `observe` methods of both are documented here.
public protocol ObservationSource<Element>: Sendable {
  /// What observers are given.
  associatedtype Element: Sendable
  /// What can be asked of an observation.
  associatedtype Options: Sendable & ExpressibleByArrayLiteral

  /// Registers an observer.
  ///
  /// Not for direct use: call `observe`.
  func _register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>,
    _ options: Options
  ) -> Registration?
  /// A registration that has ended.
  ///
  /// Not for direct use.
  var _ended: Registration { get }
  /// Finds the source later, and does not keep it where it is an object.
  ///
  /// Not for direct use.
  var _reference: @Sendable () -> Self? { get }
}

extension ObservationSource {
  /// The source itself, for one that is a value.
  ///
  /// Not for direct use.
  public var _reference: @Sendable () -> Self? { { self } }
}

extension ObservationSource {
  private func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>,
    _ options: Options
  ) -> Registration {
    _register(request, body, options) ?? _ended
  }

  /// Observes until the token is released.
  ///
  /// - Parameters:
  ///   - delivery: Where the observer runs; on the sender's thread by default.
  ///   - buffering: How many values wait for an observer that is behind; not for immediate
  ///     delivery.
  ///   - options: For instance `.once`.
  ///   - file: The caller's file, for descriptions and failures.
  ///   - line: The caller's line.
  ///   - observer: What is called. What it throws goes to the source's error handler.
  public func observe(
    on delivery: Delivery = .immediate, buffering: Buffering = .unbounded, _ options: Options = [],
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: consuming @escaping @Sendable (Element) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest(
      on: delivery, buffering, SourceLocation(file: file, line: line))
    return ObservationToken(register(request, ObserverBody(observer), options))
  }

  /// Observes until the owner ends; the owner is handed to the observer.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    owner: Owner, on delivery: Delivery = .immediate, buffering: Buffering = .unbounded,
    _ options: Options = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Element) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery, buffering, SourceLocation(file: file, line: line))
    return register(request, ObserverBody(owner, observer), options)
  }

  /// Observes on the main actor until the token is released.
  public func observe(
    on delivery: MainDelivery, buffering: Buffering = .unbounded, _ options: Options = [],
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Element) throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest(
      on: delivery.delivery, buffering, SourceLocation(file: file, line: line))
    return ObservationToken(register(request, ObserverBody(onMain: observer), options))
  }

  /// Observes on the main actor until the owner ends; the owner is handed to the observer.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    owner: Owner, on delivery: MainDelivery, buffering: Buffering = .unbounded,
    _ options: Options = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @MainActor @Sendable (Owner, Element) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, on: delivery.delivery, buffering, SourceLocation(file: file, line: line))
    return register(request, ObserverBody(owner, onMain: observer), options)
  }

  /// Observes on an actor until the actor ends; the observer is isolated to it.
  ///
  /// The actor is held weakly. Deliveries always queue.
  @discardableResult
  public func observe<Instance: Actor>(
    on instance: Instance, buffering: Buffering = .unbounded, _ options: Options = [],
    file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (isolated Instance, Element) throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      on: instance, buffering, SourceLocation(file: file, line: line))
    return register(request, ObserverBody(isolatedTo: instance, observer), options)
  }

  /// Observes asynchronously until the token is released, which cancels the task that runs.
  ///
  /// Each observer has a buffer of its own; its order relative to other observers is not promised.
  public func observeAsync(
    execution: AsyncExecution = .oneAtATime, buffering: Buffering = .unbounded,
    _ options: Options = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Element) async throws -> Void
  ) -> ObservationToken {
    let request = ObservationRequest(buffering, SourceLocation(file: file, line: line))
    return ObservationToken(register(request, ObserverBody(execution, observer), options))
  }

  /// Observes asynchronously until the owner ends; the owner lives for the length of each call.
  @discardableResult
  public func observeAsync<Owner: AnyObject & Sendable>(
    owner: Owner, execution: AsyncExecution = .oneAtATime, buffering: Buffering = .unbounded,
    _ options: Options = [], file: StaticString = #fileID, line: UInt = #line,
    _ observer: @escaping @Sendable (Owner, Element) async throws -> Void
  ) -> Registration {
    let request = ObservationRequest(
      owner: owner, buffering, SourceLocation(file: file, line: line))
    return register(request, ObserverBody(owner, execution, observer), options)
  }

  /// The values that come from now on, as an asynchronous sequence.
  ///
  /// It hears from the moment it is made, before its first `next()`. It can be read many times:
  /// each reader has a buffer of its own, which begins with the reader, the first reader's with the
  /// sequence. It ends with the source, and at once in a canceled task. Releasing it ends its
  /// observation.
  public func values(
    buffering: Buffering = .unbounded, _ options: Options = [],
    file: StaticString = #fileID, line: UInt = #line
  ) -> ValueSequence<Element> {
    let location = SourceLocation(file: file, line: line)
    let reference = _reference
    return ValueSequence<Element> { counters in
      let buffer = SequenceBuffer<Element>(buffering, counters)
      guard let source = reference() else {
        buffer.finish()
        return ValueSequence.Reader(buffer, nil)
      }
      let body = ObserverBody<Element>(
        .reader({ buffer.append($0) }, onEnd: { buffer.finish() }))
      let request = ObservationRequest(.unbounded, location)
      return ValueSequence.Reader(buffer, source._register(request, body, options))
    }
  }
}
