/// The shared state of the lists of one source, for sources in other modules of this package.
///
/// Those sources use the same registration, order, delivery and ends as the sources here. Observers
/// are called in no other way.
package struct SourceRegistry: Sendable {
  fileprivate let registry: ObserverRegistry

  package init() { registry = ObserverRegistry() }

  /// Makes a list of observers of `Value`, even while other lists of the registry are in use.
  ///
  /// - Parameter name: The type that failures name, if it is another one.
  package func makeList<Value>(
    of type: Value.Type, named name: (any Any.Type)? = nil
  ) -> SourceList<Value> {
    let list = ObserverList(registry: registry, valueType: name ?? type)
    return SourceList(registry: registry, list: list)
  }

  /// Ends what `lists` hold, and refuses every later registration.
  package func finish<Value>(_ lists: [SourceList<Value>]) {
    var all: [ObserverList] = []
    for one in lists { all.append(one.list) }
    registry.finish(all)
  }
}

/// What the code of those sources asks for.
extension SourceRegistry {
  /// The number of the reported post that the calling code is part of; 0 if there is none.
  package static var currentPost: UInt64 { ObserverRegistry.currentPost }

  /// Whether the calling code runs on the main queue or the main actor.
  package static var isOnMain: Bool { QueueTarget.main.isCurrent }

  /// Lets half a microsecond pass.
  package static func linger() { Platform.linger() }

  /// Writes a line to standard error.
  package static func warn(_ line: String) { Platform.writeToStandardError(line) }

  /// A registration that has ended, of no source.
  package static var endedRegistration: Registration {
    SourceRegistry().makeList(of: Never.self).ended
  }

  /// Passes an observer's error to `onError`, unless it is the request to end its registration.
  package static func report(
    _ error: any Error, of valueType: any Any.Type, file: StaticString, line: UInt,
    to onError: (ObserverFailure) -> Void
  ) throws {
    if error is ObservationIsOver { throw error }
    let location = CallSite(file: file, line: line)
    onError(ObserverFailure(error: error, valueType: valueType, location: location))
  }

  /// The error that an observer throws to end its registration.
  package static var endOfObservation: any Error { ObservationIsOver() }
}

/// One list of observers of `Value`, for a source in another module of this package.
package struct SourceList<Value>: Sendable {
  fileprivate let registry: ObserverRegistry
  fileprivate let list: ObserverList

  /// Whether a post would find no observer.
  package var isEmpty: Bool { list.isEmpty }

  /// A registration that has ended.
  package var ended: Registration { Registration(list: list, id: 0, counters: nil) }

  /// The live observations, oldest first.
  package var registrations: [RegistrationDescription] { registry.describe([list]) }

  /// This list without the type of its values, for generic code that has the type under another
  /// name.
  ///
  /// Posted values must have the original type. It is not checked, because a check would look the
  /// type up.
  package var untyped: UntypedSourceList { UntypedSourceList(registry: registry, list: list) }

  /// Calls the current observers.
  package func post(_ value: Value) {
    if registry.isHeard(list) { registry.post(value, Post(), to: list) }
  }

  /// The identifier of the newest observer, or a later one.
  package var newestID: UInt64 { registry.now }

  /// Calls the current observers up to the identifier `limit`.
  package func post(_ value: Value, upTo limit: UInt64) {
    registry.post(value, Post(), to: list, upTo: limit)
  }

  /// Calls only one observer, on its delivery.
  package func post(_ value: Value, onlyTo registration: Registration) {
    registry.post(value, onlyTo: registration)
  }

  /// Ends every observation of this list and of its events, because the source is released.
  ///
  /// The list must be the only one of its registry.
  package func close() {
    finish()
    registry.finishReports()
  }

  /// Ends every observation of this list, and refuses every later one of its registry.
  package func finish() {
    registry.finish([list])
  }

  /// Registers an observer that is called in the isolation of the poster.
  ///
  /// The observer need not be Sendable: a source whose observers are not Sendable stays in one
  /// isolation, and so do its posts.
  ///
  /// - Parameters:
  ///   - owner: The object whose end ends the registration, once the source notices it; the source
  ///     checks from time to time.
  ///   - ownerType: The type of the owner, for descriptions and events.
  ///   - lifetime: The lifetime of the owner, which ends the registration at once.
  ///   - target: Another place to call the observer, which must be the isolation that `body`
  ///     belongs to.
  ///   - onEnd: Called once the registration has ended, or at once if it is refused.
  package func addConfined(
    owner: OwnerReference<AnyObject>? = nil, ownerType: (any AnyObject.Type)? = nil,
    lifetime: OwnerLifetime = OwnerLifetime(),
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
      location: CallSite(file: file, line: line), isOrdered: target.isOrdered)
    if owner != nil || end != nil || target.target != nil {
      traits.details = ObserverDetails(
        swept: owner, sweptType: ownerType, delivery: target.description, onEnd: end)
    }
    let observer = AnyObserver.direct(traits, body)
    let mailbox = target.target?.mailbox
    let registration = registry.add(observer, isSwept: owner != nil) { garbage, held in
      guard let target = target.target, let mailbox else { return list }
      return list.group(for: target, mailbox, &garbage, held).list
    }
    guard let registration else {
      onEnd?()
      return ended
    }
    lifetime.storage?.add(registration)
    return registration
  }
}

/// The lifetime of an owner, if it has one, which ends registrations with the owner.
package struct OwnerLifetime: Sendable {
  fileprivate let storage: EndActions?

  package init() { storage = nil }
  package init(of owner: AnyObject) { storage = (owner as? any LifetimeOwner)?.lifetime.storage }
}

/// A list whose values are of a type that its user knows.
package struct UntypedSourceList: Sendable {
  fileprivate let registry: ObserverRegistry
  fileprivate let list: ObserverList

  /// Calls the current observers, with a value of their type.
  package func post<Value>(_ value: Value) {
    if registry.isHeard(list) { registry.post(value, Post(), to: list) }
  }
}

extension SourceList where Value: Sendable {
  /// Registers an observer as a call to `observe` requested.
  ///
  /// - Parameters:
  ///   - isOnce: Whether the first call is the last.
  ///   - kept: An object that the observer keeps for as long as it is registered.
  /// - Returns: `nil` if the source has finished.
  package func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Value>, isOnce: Bool = false,
    keeping kept: (any AnyObject & Sendable)? = nil
  ) -> Registration? {
    request.isOnce = isOnce
    let body = kept.map { body.keeping($0) } ?? body
    return request.register(body, with: registry) { _, _ in list }
  }
}

/// The observers of one list as the base of a signal.
private final class ListSignal<Element: Sendable>: SignalBase {
  private let list: ObserverList

  init(_ list: ObserverList) { self.list = list }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>,
    _ options: SourceOptions<Element>
  ) -> Registration {
    request.isOnce = options.isOnce
    return request.register(body, with: list.registry) { _, _ in list }
      ?? Registration(list: list, id: 0, counters: nil)
  }
}

extension ObserverRegistry {
  /// The events of the source.
  var events: Signal<SourceEvent> { Signal(base: ListSignal(reports.events)) }

  /// The errors that the observers of the source throw.
  var failures: Signal<ObserverFailure> { Signal(base: ListSignal(reports.failures)) }
}
