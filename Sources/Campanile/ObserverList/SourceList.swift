/// What the lists of one source have in common, for sources in other modules of this package.
///
/// A registry and its lists give them what the sources here are built on: registration, order,
/// delivery, ends. There is no other way to call an observer.
package struct SourceRegistry: Sendable {
  fileprivate let registry: ObserverRegistry

  package init() { registry = ObserverRegistry() }

  /// Creates a registry whose identifiers ascend together with those of all others made in this way.
  package static var inCommonOrder: Self {
    Self(registry: ObserverRegistry(commonClock: commonClock))
  }

  private static let commonClock = CommonClock()

  private init(registry: ObserverRegistry) { self.registry = registry }

  /// The newest identifier of all registries in common order.
  package static var newestID: UInt64 { commonClock.now }

  /// Makes a list of observers of `Value`, also while others of the registry are in use.
  package func makeList<Value>(of type: Value.Type) -> SourceList<Value> {
    let list = ObserverList(registry: registry, topic: .init(value: type, subject: nil))
    return SourceList(registry: registry, list: list)
  }

  /// Ends what `lists` hold, and refuses every later registration.
  package func finish<Value>(_ lists: [SourceList<Value>]) {
    registry.finish { _ in lists.map(\.list) }
  }

  // MARK: Where code runs

  /// A number that no other living thread has; never 0.
  package static var currentThread: UInt { ThreadRecord.currentID }

  /// Runs `body` with `scope` as what the calling thread's code is part of.
  package static func within<Scope: AnyObject, Result, Failure: Error>(
    _ scope: Scope, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let record = unsafe ThreadRecord.current
    let outer = unsafe record.pointee.scope
    unsafe record.pointee.scope = Unmanaged.passUnretained(scope)
    // SAFETY: the record is the thread's own, and `body` cannot leave the thread.
    defer {
      unsafe record.pointee.scope = outer
      // Kept until `body` has returned.
      extendLifetime(scope)
    }
    return try body()
  }

  /// What the calling thread's code is part of, if anything.
  package static var scope: AnyObject? {
    // SAFETY: who has stored it keeps it until it stores what was there before.
    unsafe ThreadRecord.current.pointee.scope?.takeUnretainedValue()
  }

  /// How many posts the calling thread is inside of.
  package static var postDepth: Int { unsafe ThreadRecord.current.pointee.depth }

  /// Whether the calling code runs on the main queue or the main actor.
  package static var isOnMain: Bool { QueueTarget.main.isCurrent }

  /// Writes a line to standard error.
  package static func warn(_ line: String) { Platform.writeToStandardError(line) }

  /// A registration that has ended, of no source.
  package static var endedRegistration: Registration {
    SourceRegistry().makeList(of: Never.self).ended
  }

  /// Hands what an observer threw to `onError`, unless it is the wish to end its registration.
  package static func report(
    _ error: any Error, of valueType: any Any.Type, file: StaticString, line: UInt,
    to onError: (ObserverFailure) -> Void
  ) throws {
    if error is ObservationIsOver { throw error }
    let location = SourceLocation(file: file, line: line)
    onError(ObserverFailure(error: error, valueType: valueType, location: location))
  }

  /// What an observer throws to end its registration.
  package static var endOfObservation: any Error { ObservationIsOver() }
}

/// One list of observers of `Value`, for a source in another module of this package.
package struct SourceList<Value>: Sendable {
  fileprivate let registry: ObserverRegistry
  fileprivate let list: ObserverList

  /// Whether a post would find nobody.
  package var isEmpty: Bool { list.isEmpty }

  /// A registration that has ended.
  package var ended: Registration { Registration(list: list, id: 0, counters: nil) }

  /// The live observations, oldest first.
  package var registrations: [RegistrationDescription] { registry.describe { _ in [list] } }

  /// This list with the type of its values left out, for generic code that knows that by another name.
  ///
  /// What is posted to it is of the same type as before: to compare would be to look it up.
  package var untyped: UntypedSourceList { UntypedSourceList(registry: registry, list: list) }

  /// Calls those who observe now.
  package func post(_ value: Value) {
    if registry.isHeard(list) { registry.post(value, Post(), to: list) }
  }

  /// The identifier of the first observer from `id` on; `nil` if there is none.
  package func first(from id: UInt64) -> UInt64? { registry.first(from: id, in: list) }

  /// Calls those who observe now and whose identifiers are in `range`.
  package func post(_ value: Value, in range: ClosedRange<UInt64>) {
    registry.post(value, in: range, of: list)
  }

  /// Calls one observer alone, where it wants its deliveries.
  package func post(_ value: Value, onlyTo registration: Registration) {
    registry.post(value, onlyTo: registration)
  }

  /// Ends every observation of this list, the only one of its registry, and those of its events: the
  /// source goes away.
  package func close() {
    finish()
    registry.finishReports()
  }

  /// Ends every observation of this list, and refuses every later one of its registry.
  package func finish() {
    registry.finish { _ in [list] }
  }

  /// Registers an observer that is called in the isolation of who posts.
  ///
  /// It need not be Sendable: a source whose observers are not is itself in the hands of one
  /// isolation, as are its posts.
  ///
  /// - Parameters:
  ///   - owner: Whose end ends the registration, once that is noticed: the source looks now and then.
  ///   - lifetime: The lifetime of the owner, which ends it at once.
  ///   - target: Another place to call it, which then is the isolation that `body` belongs to.
  ///   - onEnd: What happens once the registration has ended, or at once if it is refused.
  package func addConfined(
    owner: OwnerReference<AnyObject>? = nil, lifetime: OwnerLifetime = OwnerLifetime(),
    on target: Delivery = .immediate, file: StaticString, line: UInt,
    onEnd: (@Sendable () -> Void)? = nil, _ body: @escaping (Value) throws -> Void
  ) -> Registration {
    var end: (@Sendable (Registration) -> Void)?
    if lifetime.storage != nil || onEnd != nil {
      end = { registration in
        lifetime.storage?.remove(registration)
        onEnd?()
      }
    }
    var traits = ObserverTraits(
      location: SourceLocation(file: file, line: line), isOrdered: target.isOrdered)
    if owner != nil || end != nil || target.target != nil {
      traits.details = ObserverDetails(swept: owner, delivery: target.description, onEnd: end)
    }
    let observer = AnyObserver.direct(traits, body)
    let mailbox = target.target?.mailbox
    let place = { (garbage: inout Garbage, held: borrowing ObserverRegistry.Held) -> Destination in
      guard let target = target.target, let mailbox else { return .list(list) }
      return .list(list.group(for: target, mailbox, &garbage, held).list)
    }
    let registration =
      if owner != nil {
        registry.addSwept(observer, to: place)
      } else {
        registry.add(observer, to: place)
      }
    guard let registration else {
      onEnd?()
      return ended
    }
    lifetime.storage?.add(registration)
    return registration
  }
}

/// What an owner has that ends registrations with it, if it has that.
package struct OwnerLifetime: Sendable {
  fileprivate let storage: Lifetime.Storage?

  package init() { storage = nil }
  package init(of owner: AnyObject) { storage = (owner as? any LifetimeOwner)?.lifetime.storage }
}

/// A list whose values are of a type that its user knows.
package struct UntypedSourceList: Sendable {
  fileprivate let registry: ObserverRegistry
  fileprivate let list: ObserverList

  /// Calls those who observe now, with a value of their type.
  package func post<Value>(_ value: Value) {
    if registry.isHeard(list) { registry.post(value, Post(), to: list) }
  }
}

extension SourceList where Value: Sendable {
  /// Registers what a call to `observe` asked for.
  ///
  /// - Parameters:
  ///   - isOnce: Whether the first call is the last.
  ///   - kept: What the observer keeps for as long as it is registered.
  /// - Returns: `nil` if the source has finished.
  package func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Value>, isOnce: Bool = false,
    keeping kept: (any AnyObject & Sendable)? = nil
  ) -> Registration? {
    request.isOnce = isOnce
    let body = kept.map { body.keeping($0) } ?? body
    return request.register(body, with: registry) { _, _ in .list(list) }
  }
}
