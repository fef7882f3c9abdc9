/// The list of observers of a source in another module of this package.
///
/// Those sources use the same registration, order, delivery and ends as the sources here. Observers
/// are called in no other way.
package struct SourceList<Value>: Sendable {
  private let list: ObserverList
  private var registry: ObserverRegistry { list.registry }

  /// Creates a list.
  ///
  /// - Parameter name: The type that failures name, if it is another one.
  package init(of type: Value.Type = Value.self, named name: (any Any.Type)? = nil) {
    list = ObserverList(registry: ObserverRegistry(), valueType: name ?? type)
  }

  /// Whether a post would find no observer.
  package var isEmpty: Bool { list.isEmpty }

  /// A registration that has ended.
  package var ended: Registration { list.ended }

  /// Calls the current observers.
  package func post(_ value: Value) { post(unchecked: value) }

  /// Calls the current observers with a `Value`, for generic code that has the type under another name.
  ///
  /// It is not checked, because a check would look the type up.
  package func post<Same>(unchecked value: Same) {
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
  package func close() {
    finish()
    registry.finishReports()
  }

  /// Ends every observation of this list, and refuses every later one.
  package func finish() {
    registry.finish([list])
  }

  /// Registers an observer that is called in the isolation of the poster.
  ///
  /// The observer need not be Sendable: a source whose observers are not Sendable stays in one
  /// isolation, and so do its posts.
  ///
  /// - Parameters:
  ///   - owner: The object whose end ends the registration, once the source notices it.
  ///   - lifetime: The lifetime of the owner, which ends the registration at once.
  ///   - onEnd: Called once the registration has ended, or at once if it is refused.
  package func addConfined(
    owner: OwnerReference<AnyObject>? = nil, lifetime: EndActions? = nil,
    file: StaticString, line: UInt,
    onEnd: (@Sendable () -> Void)? = nil, _ body: @escaping (Value) throws -> Void
  ) -> Registration {
    var traits = ObserverTraits(location: CallSite(file: file, line: line))
    var atEnd: (@Sendable (Registration) -> Void)?
    if lifetime != nil || onEnd != nil {
      atEnd = {
        lifetime?.remove($0)
        onEnd?()
      }
    }
    if owner != nil || atEnd != nil {
      traits.details = ObserverDetails(
        swept: owner, sweptType: owner?.object.map { type(of: $0) },
        delivery: Delivery.immediate.description, onEnd: atEnd)
    }
    let observer = AnyObserver.direct(traits, body)
    let registration = registry.add(observer, isSwept: owner != nil) { _, _ in list }
    if let registration { lifetime?.add(registration) } else { onEnd?() }
    return registration ?? ended
  }
}

extension SourceList where Value: Sendable {
  /// Registers an observer as a call to `observe` requested.
  package func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Value>
  ) -> Registration {
    list.register(request, body)
  }
}

extension ObserverList {
  /// Registers an observer as a call to `observe` requested.
  ///
  /// - Returns: A registration that has ended, if the source has finished.
  func register<Value: Sendable>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Value>
  ) -> Registration {
    request.register(body, with: registry) { _, _ in self } ?? ended
  }
}

/// The observers of one list as the base of a signal.
final class ListSignal<Element: Sendable>: SignalBase {
  private let list: ObserverList
  private let source: (any AnyObject & Sendable)?

  init(_ list: ObserverList, keeping source: (any AnyObject & Sendable)? = nil) {
    (self.list, self.source) = (list, source)
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    list.register(request, body)
  }
}

extension ObserverRegistry {
  /// The events of the source.
  var events: Signal<SourceEvent> { Signal(base: ListSignal(reports.events)) }

  /// The errors that observers of the source throw.
  var failures: Signal<ObserverFailure> { Signal(base: ListSignal(reports.failures)) }
}
