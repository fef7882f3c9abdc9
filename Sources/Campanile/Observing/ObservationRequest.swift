/// The arguments of a call to `observe`, except the observer itself.
///
/// It is not generic, so passing it on needs no metadata of the value type. It is moved, not
/// copied.
package struct ObservationRequest: ~Copyable, Sendable {
  /// The object whose end ends the registration; not kept after the registration is made.
  var owner: (any AnyObject & Sendable)?
  var delivery = Delivery.immediate
  var buffering: Buffering
  var location: CallSite
  var isOnce = false
  /// Called when the observer resumes and has missed something; for states.
  var onResume: (@Sendable (Registration) -> Void)?

  @inline(never)
  init(
    owner: (any AnyObject & Sendable)? = nil, on delivery: Delivery, _ location: CallSite
  ) {
    self.owner = owner
    self.delivery = delivery
    buffering = delivery.buffering
    self.location = location
  }

  /// A request for an observer that needs no place, or has its own buffer at any place.
  @inline(never)
  init(
    owner: (any AnyObject & Sendable)? = nil, _ buffering: Buffering = .unbounded,
    _ location: CallSite
  ) {
    buffering.checkCapacity()
    self.owner = owner
    self.buffering = buffering
    self.location = location
  }

  /// A request for an observer that is isolated to an actor, which is also the owner.
  init(on instance: some Actor, _ buffering: Buffering, _ location: CallSite) {
    self.init(
      owner: instance, on: Delivery(target: ActorTarget.of(instance), buffering: buffering),
      location)
  }
}

/// An observer, and the target whose group it belongs to, if it shares one.
private struct Made {
  let observer: AnyObserver
  var groupTarget: (any DeliveryTarget)?
}

extension ObservationRequest {
  /// Registers in the list that `place` finds or makes.
  ///
  /// - Parameters:
  ///   - body: The observer to call.
  ///   - registry: The registry of the source.
  ///   - subjectLifetime: The lifetime of the subject, if it has one, which ends the registration too.
  ///   - place: Finds or makes the list, with the registry's lock held.
  /// - Returns: The registration, or `nil` if the source has finished.
  // Not specialized: all kinds of observers would be compiled once more for each type that this
  // module observes.
  @_semantics("optimize.sil.specialize.generic.never")
  func register<Value: Sendable>(
    _ body: consuming ObserverBody<Value>, with registry: ObserverRegistry,
    subjectLifetime: EndActions? = nil,
    in place: (
      _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
    ) -> ObserverList
  ) -> Registration? {
    if body.plain != nil, isPlain, subjectLifetime == nil {
      return registry.add(.direct(plainTraits, (consume body).takePlain()), to: place)
    }
    let ownerLifetime = owner.flatMap { registry.lifetime(ofOwner: $0) }
    let lifetimes = [ownerLifetime, subjectLifetime].compactMap { $0 }
    var made = makeObserver(body, lifetimes)
    let observer = made.observer
    let mailbox = made.groupTarget?.mailbox
    let registration = registry.add(
      observer, isSwept: owner != nil, owner: owner.map { ObjectIdentifier($0) }
    ) { garbage, held in
      let list = place(&garbage, held)
      guard let target = made.groupTarget.take(), let mailbox else { return list }
      return list.group(for: target, mailbox, &garbage, held).list
    }
    if let registration {
      for lifetime in lifetimes { lifetime.add(registration) }
    } else {
      observer.details?.onRefused?()
    }
    return registration
  }

  /// Whether the registration needs nothing except the closure to call.
  private var isPlain: Bool {
    owner == nil && delivery.target == nil && !delivery.isOrdered && buffering == .unbounded
      && onResume == nil
  }

  private var plainTraits: ObserverTraits { ObserverTraits(location: location, isOnce: isOnce) }

  private func makeObserver<Value: Sendable>(
    _ body: ObserverBody<Value>, _ lifetimes: [EndActions]
  ) -> Made {
    // Before the other kinds, whose type the runtime has to look up.
    if buffering == .unbounded, let body = body.plain {
      return Made(observer: .direct(traits(lifetimes), body), groupTarget: delivery.target)
    }
    let isWanted = body.isWanted
    switch body.kind {
    case .plain(let body):
      return makeBounded(lifetimes, isTold: false, isWanted) { value, _ in try body(value) }
    case .told(let body):
      if buffering != .unbounded {
        return makeBounded(lifetimes, isTold: true, isWanted) { try body($0, $1.subject) }
      }
      let observer = IndirectObserver<Value>(traits(lifetimes, isTold: true)) { value, post, _, _ in
        try body(value, post.subject)
      }
      return Made(observer: observer, groupTarget: delivery.target)
    case .carrier(let body):
      let observer = IndirectObserver<Value>(traits(lifetimes, isTold: true)) { value, post, _, _ in
        try body(value, post)
      }
      return Made(observer: observer, groupTarget: nil)
    case .async(let isTold, let body):
      let observer = makeAsynchronous(lifetimes, isTold, isWanted, body)
      return Made(observer: observer, groupTarget: nil)
    case .starter(let start):
      let (name, location) = ("asynchronously, concurrently", location)
      let traits = traits(lifetimes, name, isAsynchronous: true)
      let observer = IndirectObserver<Value>(traits) { value, post, id, list in
        guard let call = start(value) else { return }
        let facts = ObserverFacts(
          Registration(list: list, id: id, counters: nil), location, delivery: name,
          isAsynchronous: true)
        Task { [details = post.details] in
          let reported = list.registry.beginInTask(facts, details)
          await reported.around(call)
          list.registry.end(reported)
        }
      }
      return Made(observer: observer, groupTarget: nil)
    case .tap(let take, let onEnd):
      let traits = traits(
        lifetimes, RegistrationDescription.derivedState, onEnd: { _ in onEnd() }, onRefused: onEnd)
      let observer = IndirectObserver<Value>(traits) { value, post, _, _ in take(value, post) }
      return Made(observer: observer, groupTarget: nil)
    case .reader(let take, let onEnd, let buffer):
      let traits = traits(
        lifetimes, "a sequence", buffer: buffer, onEnd: { _ in onEnd() }, onRefused: onEnd)
      let observer = IndirectObserver<Value>(traits) { value, post, _, _ in
        try take(value, post.subject)
      }
      return Made(observer: observer, groupTarget: nil)
    }
  }

  /// Selects the values for an observer; `nil` for all values.
  private typealias Filter<Value> = (@Sendable (Value, AnyObject?) -> Bool)?

  /// An observer with its own mailbox, for its bounded buffer.
  private func makeBounded<Value: Sendable>(
    _ lifetimes: [EndActions], isTold: Bool, _ isWanted: Filter<Value>,
    _ body: @escaping @Sendable (Value, Post) throws -> Void
  ) -> Made {
    // Only places have buffers.
    let target = delivery.target!
    let mailbox = Mailbox(buffering, target.mailbox.pace)
    let traits = traits(lifetimes, isTold: isTold, buffer: mailbox.counts) { _ in mailbox.close() }
    let observer = IndirectObserver<Value>(
      traits,
      arrival: { value, post, _, _ in
        try body(value, post)
        return nil
      }
    ) { value, post, id, list in
      guard isWanted?(value, post.subject) ?? true else { return }
      mailbox.append(value, post.kept(isTold: isTold), at: id, in: list, for: target)
    }
    return Made(observer: observer, groupTarget: nil)
  }

  /// Makes the calls of an asynchronous observer, which are made later, in a task.
  private typealias Preparation<Value> =
    @Sendable (Value, Post, UInt64, ObserverList) -> PreparedCall

  private func preparation<Value: Sendable>(
    of body: @escaping @Sendable (Value, AnyObject?) async throws -> Void,
    _ mailbox: Mailbox, _ name: String
  ) -> Preparation<Value> {
    // Named here, since a closure that named the request would keep the owner.
    let (location, ownerType, isOnce) = (location, owner.map { type(of: $0) }, isOnce)
    let counters = mailbox.counters
    return { value, post, id, list in
      counters.beginCall()
      let waiters = post.tracker?.waiters ?? []
      let registration = Registration(list: list, id: id, counters: counters)
      return {
        await AsyncCall.run(of: mailbox, for: waiters) {
          // The end of the registration cancels this task, so that it has to wait for the call.
          // Code that the observer calls or releases is still inside it, and must not wait for it.
          defer { if isOnce { registration.cancel() } }
          let registry = registration.list.registry
          let facts = ObserverFacts(
            registration, location, ownerType: ownerType, delivery: name, isAsynchronous: true)
          let call = registry.beginInTask(facts, post.details)
          await call.around {
            await post.context.restore {
              do {
                try await body(value, post.subject)
              } catch is CancellationError where Task.isCancelled {
                // The registration ended and its task was canceled: no failure of the observer.
              } catch {
                registry.handle(error, facts, post.details)
              }
            }
          }
          registry.end(call)
        }
        counters.endCall()
        post.tracker?.end()
      }
    }
  }

  private func makeAsynchronous<Value: Sendable>(
    _ lifetimes: [EndActions], _ isTold: Bool, _ isWanted: Filter<Value>,
    _ body: @escaping @Sendable (Value, AnyObject?) async throws -> Void
  ) -> AnyObserver {
    let runner = AsyncRunner(buffering)
    let name = "asynchronously"
    let prepare = preparation(of: body, runner.mailbox, name)
    var traits = traits(
      lifetimes, name, isAsynchronous: true, isTold: isTold, buffer: runner.mailbox.counts
    ) { _ in
      runner.end()
    }
    traits.isLasting = true
    return IndirectObserver<Value>(
      traits,
      arrival: { [isOnce] value, post, id, list in
        // Messages behind the only call will not be delivered.
        if isOnce { runner.mailbox.close() }
        return prepare(value, post, id, list)
      }
    ) { value, post, id, list in
      guard isWanted?(value, post.subject) ?? true else { return }
      runner.mailbox.append(value, post.kept(isTold: isTold), at: id, in: list, for: runner)
    }
  }

  /// - Parameter name: The name of the delivery in descriptions, if the delivery has none.
  @inline(never)
  private func traits(
    _ lifetimes: [EndActions], _ name: String? = nil, isAsynchronous: Bool = false,
    isTold: Bool = false, buffer: BufferCounts? = nil,
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
    if owner != nil || end != nil || delivery.target != nil || buffer != nil
      || onResume != nil || name != nil
    {
      traits.details = ObserverDetails(
        owner: owner, delivery: name ?? delivery.description, isAsynchronous: isAsynchronous,
        buffer: buffer, onResume: onResume, onEnd: end, onRefused: onRefused)
    }
    return traits
  }
}
