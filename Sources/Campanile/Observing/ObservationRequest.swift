/// The arguments of a call to `observe`, except the observer itself.
///
/// It is not generic, so passing it on needs no metadata of the value type. It is moved, not
/// copied.
package struct ObservationRequest: ~Copyable, Sendable {
  /// The object whose end ends the registration; not kept after the registration is made.
  var owner: (any AnyObject & Sendable)?
  var delivery: Delivery
  package var location: CallSite
  /// The lifetime of the subject, if it has one, which ends the registration.
  var subjectLifetime: EndActions?
  package var options: SourceOptions
  /// Called when the observer resumes and has missed something; for states.
  var onResume: (@Sendable (Registration) -> Void)?

  @inline(never)
  init(
    owner: (any AnyObject & Sendable)? = nil, on delivery: Delivery = .immediate,
    _ location: CallSite, _ options: SourceOptions = SourceOptions()
  ) {
    self.owner = owner
    self.delivery = delivery
    self.options = options
    self.location = location
  }

  package init(
    owner: (any AnyObject & Sendable)? = nil, on delivery: Delivery = .immediate,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(owner: owner, on: delivery, CallSite(file: file, line: line))
  }

  /// Takes the options, for a source that itself does what they ask for.
  package mutating func takeOptions() -> SourceOptions {
    defer { options = SourceOptions() }
    return options
  }
}

extension ObservationRequest {
  /// Finds or makes the list for a registration, with the registry's lock held.
  typealias Place = (_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) ->
    ObserverList

  /// Registers in the list that `place` finds or makes.
  ///
  /// - Returns: The registration, or `nil` if the source has finished.
  // Not specialized: all kinds of observers would be compiled once more for each type that this
  // module observes.
  @_semantics("optimize.sil.specialize.generic.never")
  consuming func register<Value: Sendable>(
    _ body: consuming ObserverBody<Value>, with registry: ObserverRegistry, in place: Place
  ) -> Registration? {
    if body.isPlain, isPlain {
      let traits = ObserverTraits(location: location, isOnce: options.isOnce)
      // Moved, and not copied.
      return registry.add(.direct(traits, (consume body).plain!), to: place)
    }
    let ownerLifetime = owner.flatMap { registry.lifetime(ofOwner: $0) }
    // An observer with its own buffer belongs to no group.
    let target = delivery.buffering == .unbounded ? delivery.target : nil
    let (mailbox, isOrdered) = (target?.mailbox, delivery.isOrdered)
    let registration = registry.add(
      makeObserver(body, ownerLifetime), isSwept: owner != nil,
      owner: owner.map { ObjectIdentifier($0) }
    ) { garbage, held in
      let list = place(&garbage, held)
      guard let target, let mailbox else { return list }
      return list.group(for: target, mailbox, isOrdered: isOrdered, &garbage, held).list
    }
    if let registration {
      subjectLifetime?.add(registration)
      ownerLifetime?.add(registration)
    } else {
      body.traits.onEnd?()
    }
    return registration
  }

  /// Whether the registration needs nothing except the closure to call.
  private var isPlain: Bool {
    owner == nil && delivery.isPlain && subjectLifetime == nil && onResume == nil
  }

  private func makeObserver<Value: Sendable>(
    _ body: ObserverBody<Value>, _ ownerLifetime: EndActions?
  ) -> AnyObserver {
    var traits = body.traits
    // Before the others, whose type the runtime has to look up.
    if delivery.buffering == .unbounded, let body = body.plain {
      return .direct(self.traits(traits, ownerLifetime), body)
    }
    let mailbox: Mailbox
    let target: any DeliveryTarget
    let deferred: IndirectObserver<Value>.Deferred
    switch body.kind {
    case .synchronous(let synchronous):
      guard delivery.buffering != .unbounded else {
        return IndirectObserver<Value>(self.traits(traits, ownerLifetime), synchronous)
      }
      // Only places have buffers.
      target = delivery.target!
      mailbox = Mailbox(delivery.buffering, clock: target.mailbox.clock)
      traits.atEnd { [mailbox] in mailbox.close() }
      // Not by `map`: a function that has passed through generic code is called through thunks.
      if let plain = body.plain {
        deferred = IndirectObserver<Value>.calling(plain)
      } else {
        deferred = { value, post, id, list in
          try synchronous(value, post, id, list)
          return nil
        }
      }
    case .asynchronous(let body):
      let runner = AsyncRunner(delivery.buffering)
      (target, mailbox) = (runner, runner.mailbox)
      traits.atEnd { runner.end() }
      let prepare = preparation(of: body, mailbox, traits.name)
      deferred = { [mailbox, isOnce = options.isOnce] value, post, id, list in
        // Messages behind the only call will not be delivered.
        if isOnce { mailbox.close() }
        return prepare(value, post, id, list)
      }
    }
    traits.buffer = mailbox.counts
    return IndirectObserver<Value>(
      self.traits(traits, ownerLifetime), in: mailbox, for: target, where: body.isWanted,
      deferred: deferred)
  }

  /// Makes the calls of an asynchronous observer, which are made later, in a task.
  private func preparation<Value: Sendable>(
    of body: @escaping @Sendable (Value, Post) async throws -> Void, _ mailbox: Mailbox,
    _ name: String?
  ) -> @Sendable (Value, Post, UInt64, ObserverList) -> PreparedCall {
    // Named here, since a closure that named the request would keep the owner.
    let (location, ownerType, isOnce) = (location, owner.map { type(of: $0) }, options.isOnce)
    let counters = mailbox.counters
    return { value, post, id, list in
      counters.calls.begin()
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
          let call = registry.begin(facts, post.details)
          await call.around {
            await post.context.restore {
              do {
                try await body(value, post)
              } catch is CancellationError where Task.isCancelled {
                // The registration ended and its task was canceled: no failure of the observer.
              } catch {
                registry.handle(error, facts, post.details)
              }
            }
          }
          if let call { registry.end(call) }
        }
        counters.calls.end()
        post.tracker?.end()
      }
    }
  }

  private func traits(_ body: BodyTraits, _ ownerLifetime: EndActions?) -> ObserverTraits {
    var onEnd: (@Sendable (Registration) -> Void)?
    if subjectLifetime != nil || ownerLifetime != nil || body.onEnd != nil {
      onEnd = { [subjectLifetime, ownerLifetime, bodyEnds = body.onEnd] registration in
        subjectLifetime?.remove(registration)
        ownerLifetime?.remove(registration)
        bodyEnds?()
      }
    }
    let details = ObserverDetails(
      owner: owner, delivery: body.name ?? delivery.description,
      isAsynchronous: body.isAsynchronous, buffer: body.buffer, onResume: onResume, onEnd: onEnd)
    return ObserverTraits(
      location: location, isOnce: options.isOnce,
      receivesSubject: body.receivesSubject, isLasting: body.isLasting, details: details)
  }
}
