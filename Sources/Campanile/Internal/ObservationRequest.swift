/// Everything that a call to `observe` said, in one form for every source.
///
/// Not for direct use: the `observe` methods of ``Followable`` and ``MessageCenter`` make one.
public struct ObservationRequest<Value: Sendable>: Sendable {
  /// What is called, and how.
  enum Body: Sendable {
    case plain(@Sendable (Value) throws -> Void)
    /// Called with the subject of the message too.
    case told(@Sendable (Value, AnyObject?) throws -> Void)
    case async(AsyncExecution, @Sendable (Value) async throws -> Void)
    /// Takes the value in where it is posted and hears of the end; for sequences.
    case reader(@Sendable (Value) -> Void, onEnd: @Sendable () -> Void)
  }

  /// Whose end ends the registration; not kept after the registration is made.
  var owner: (any AnyObject & Sendable)?
  var delivery: Delivery
  var buffering: Buffering
  var location: SourceLocation
  var body: Body
  var isOnce = false

  /// The delivery's name for descriptions, where the kind of observer says more than the delivery.
  private var deliveryName: String {
    switch body {
    case .plain, .told: delivery.description
    case .async(.oneAtATime, _): "asynchronously, one at a time"
    case .async(.concurrent, _): "asynchronously, concurrently"
    case .reader: "a sequence"
    }
  }

  /// Whether the observer is called by who posts, and by nobody else.
  var isImmediate: Bool {
    if case .async = body { return false }
    return delivery.target == nil
  }

  // MARK: The forms of observers

  init(
    on delivery: Delivery, _ buffering: Buffering, _ location: SourceLocation,
    _ observer: @escaping @Sendable (Value) throws -> Void
  ) {
    self.init(
      owner: nil, delivery: delivery, buffering: buffering, location: location,
      body: .plain(observer))
  }

  init<Owner: AnyObject & Sendable>(
    owner: Owner, on delivery: Delivery, _ buffering: Buffering, _ location: SourceLocation,
    _ observer: @escaping @Sendable (Owner, Value) throws -> Void
  ) {
    self.init(
      owner: owner, delivery: delivery, buffering: buffering, location: location,
      body: .plain { [weak owner] value in
        guard let owner else { throw ObservationIsOver() }
        try observer(owner, value)
      })
  }

  init(
    on main: MainDelivery, _ buffering: Buffering, _ location: SourceLocation,
    _ observer: @escaping @MainActor @Sendable (Value) throws -> Void
  ) {
    self.init(on: main.delivery, buffering, location) { value in
      // The main queue is the main actor's executor; this checks it.
      try MainActor.assumeIsolated { try observer(value) }
    }
  }

  init<Owner: AnyObject & Sendable>(
    owner: Owner, on main: MainDelivery, _ buffering: Buffering, _ location: SourceLocation,
    _ observer: @escaping @MainActor @Sendable (Owner, Value) throws -> Void
  ) {
    self.init(owner: owner, on: main.delivery, buffering, location) { owner, value in
      try MainActor.assumeIsolated { try observer(owner, value) }
    }
  }

  init<Instance: Actor>(
    on instance: Instance, _ buffering: Buffering, _ location: SourceLocation,
    _ observer: @escaping @Sendable (isolated Instance, Value) throws -> Void
  ) {
    let delivery = Delivery(target: ActorTarget(instance), isOrdered: false)
    self.init(owner: instance, on: delivery, buffering, location) { instance, value in
      // The target drains in a method of the actor; this checks it.
      try instance.assumeIsolated { try observer($0, value) }
    }
  }

  init(
    _ execution: AsyncExecution, _ buffering: Buffering, _ location: SourceLocation,
    _ observer: @escaping @Sendable (Value) async throws -> Void
  ) {
    self.init(
      owner: nil, delivery: .immediate, buffering: buffering, location: location,
      body: .async(execution, observer))
  }

  init<Owner: AnyObject & Sendable>(
    owner: Owner, _ execution: AsyncExecution, _ buffering: Buffering, _ location: SourceLocation,
    _ observer: @escaping @Sendable (Owner, Value) async throws -> Void
  ) {
    self.init(
      owner: owner, delivery: .immediate, buffering: buffering, location: location,
      body: .async(execution) { [weak owner] value in
        guard let owner else { throw ObservationIsOver() }
        try await observer(owner, value)
      })
  }

  init(
    owner: (any AnyObject & Sendable)?, delivery: Delivery, buffering: Buffering,
    location: SourceLocation, body: Body
  ) {
    buffering.checkCapacity()
    self.owner = owner
    self.delivery = delivery
    self.buffering = buffering
    self.location = location
    self.body = body
  }

  // MARK: Registering

  /// Registers in the list that `place` finds or makes.
  ///
  /// - Parameters:
  ///   - registry: The registry of the source.
  ///   - subject: The instance whose lifetime, if it has one, ends the registration too.
  ///   - place: Finds or makes the list; called under the lock.
  /// - Returns: The registration; one that has ended already if the source has finished.
  func register(
    with registry: ObserverRegistry, subject: AnyObject? = nil,
    in place: (_ garbage: inout Garbage) -> ObserverList
  ) -> Registration? {
    var lifetimes: [Lifetime.Storage] = []
    if let owner = owner as? any LifetimeOwner { lifetimes.append(owner.lifetime.storage) }
    if let subject = subject as? any LifetimeOwner { lifetimes.append(subject.lifetime.storage) }
    var made = makeObserver(lifetimes)
    let observer = made.observer
    let registration = registry.add(observer, owner: owner) { garbage in
      let list = place(&garbage)
      guard let target = made.groupTarget.take() else { return list }
      return list.group(for: target, &garbage).list
    }
    if let registration {
      for lifetime in lifetimes { lifetime.add(registration) }
    } else {
      observer.details?.onRefused?()
    }
    return registration
  }

  private struct Made {
    let observer: AnyObserver
    /// The target whose group the observer belongs to, if it shares one.
    var groupTarget: (any DeliveryTarget)?
  }

  private func makeObserver(_ lifetimes: [Lifetime.Storage]) -> Made {
    switch body {
    case .plain(let body):
      return makeSynchronous(lifetimes, isTold: false) { value, _ in try body(value) }
        ?? Made(
          observer: DirectObserver(traits(lifetimes), body), groupTarget: delivery.target)
    case .told(let body):
      let told: @Sendable (Value, Post) throws -> Void = { try body($0, $1.subject) }
      return makeSynchronous(lifetimes, isTold: true, told)
        ?? Made(
          observer: IndirectObserver(traits(lifetimes, isTold: true)) { value, post, _ in
            try told(value, post)
          },
          groupTarget: delivery.target)
    case .async(let execution, let body):
      return Made(observer: makeAsynchronous(lifetimes, execution, body), groupTarget: nil)
    case .reader(let take, let onEnd):
      let observer = IndirectObserver<Value>(
        traits(lifetimes, onEnd: { _ in onEnd() }, onRefused: onEnd)
      ) { value, _, _ in take(value) }
      return Made(observer: observer, groupTarget: nil)
    }
  }

  /// An observer with a mailbox of its own, if its buffer is bounded.
  private func makeSynchronous(
    _ lifetimes: [Lifetime.Storage], isTold: Bool,
    _ body: @escaping @Sendable (Value, Post) throws -> Void
  ) -> Made? {
    if buffering == .unbounded { return nil }
    guard let target = delivery.target else {
      preconditionFailure(
        "An immediate observer was given a buffer; it is called at once and keeps nothing waiting")
    }
    let counters = DeliveryCounters()
    let mailbox = PrivateMailbox<Value>(buffering, counters: counters) {
      target.enqueue(DeliveryJob($0, on: target))
    }
    let traits = traits(lifetimes, isTold: isTold, counters: counters) { _ in mailbox.close() }
    let observer = IndirectObserver<Value>(
      traits, arrival: { value, post, _ in try body(value, post) }
    ) { value, post, registration in
      var post = post
      if !isTold { post.subject = nil }
      mailbox.append(value, post, for: registration)
    }
    return Made(observer: observer, groupTarget: nil)
  }

  private func makeAsynchronous(
    _ lifetimes: [Lifetime.Storage], _ execution: AsyncExecution,
    _ body: @escaping @Sendable (Value) async throws -> Void
  ) -> AnyObserver {
    let counters = DeliveryCounters()
    let runner = AsyncRunner()
    // Named here, since a closure that named the request would keep the owner.
    let location = location
    let prepare: @Sendable (Value, Registration) -> @Sendable () async -> Void = {
      value, registration in
      counters.beginCall()
      return {
        await AsyncCall.$running.withValue([counters]) {
          do {
            try await body(value)
          } catch is CancellationError where Task.isCancelled {
            // The registration ended and its task was canceled: no failure of the observer.
          } catch {
            registration.list.registry.handle(error, at: location, of: registration)
          }
        }
      }
    }
    switch execution {
    case .oneAtATime:
      let mailbox = PrivateMailbox<Value>(buffering, counters: counters) { mailbox in
        runner.start { await mailbox.drain(runner.takePrepared) }
      }
      let traits = traits(lifetimes, counters: counters) { _ in
        mailbox.close()
        runner.end()
      }
      return IndirectObserver<Value>(
        traits,
        arrival: { value, _, registration in
          runner.prepare(prepare(value, registration))
        }
      ) { value, post, registration in
        var post = post
        post.subject = nil
        mailbox.append(value, post, for: registration)
      }
    case .concurrent:
      precondition(
        buffering == .unbounded,
        "A concurrent observer was given a buffer; it starts each call at once")
      let traits = traits(lifetimes, counters: counters) { _ in runner.end() }
      return IndirectObserver<Value>(traits) { value, post, registration in
        // A concurrent observer that waits for a post cannot wait for the calls it is part of.
        let tracker = AsyncCall.isCurrent(counters) ? nil : post.tracker
        tracker?.begin()
        let call = prepare(value, registration)
        runner.start {
          await call()
          counters.endCall()
          tracker?.end()
        }
      }
    }
  }

  private func traits(
    _ lifetimes: [Lifetime.Storage], isTold: Bool = false, counters: DeliveryCounters? = nil,
    onEnd: (@Sendable (Registration) -> Void)? = nil, onRefused: (@Sendable () -> Void)? = nil
  ) -> ObserverTraits {
    var traits = ObserverTraits(
      location: location, isOnce: isOnce, isOrdered: delivery.isOrdered, isTold: isTold)
    var end = onEnd
    if !lifetimes.isEmpty {
      end = { registration in
        for lifetime in lifetimes { lifetime.remove(registration) }
        onEnd?(registration)
      }
    }
    if owner != nil || end != nil || delivery.target != nil || counters != nil {
      traits.details = ObserverDetails(
        owner: owner, delivery: deliveryName, counters: counters, onEnd: end, onRefused: onRefused)
    }
    return traits
  }
}
