/// A source that can be looked at: what happens there, and who observes it.
///
/// A `Trace` of the module CampanileInspector follows such sources.
public protocol Traceable: Sendable {
  /// What happens at the source, to be observed at any time.
  var events: Signal<SourceEvent> { get }
  /// The live observations, oldest first.
  var registrations: [RegistrationDescription] { get }
  /// What a trace calls the source.
  var traceName: String { get }
  /// Reads the live observations later, without keeping the source; none once it has gone.
  var registrationsReader: @Sendable () -> [RegistrationDescription] { get }
}

extension Traceable where Self: AnyObject {
  /// Reads the live observations for as long as the object lives.
  public var registrationsReader: @Sendable () -> [RegistrationDescription] {
    { [weak self] in self?.registrations ?? [] }
  }
}

extension MessageCenter: Traceable {
  /// The center's label.
  public var traceName: String { label.isEmpty ? "MessageCenter" : "MessageCenter \(label)" }
}

extension Broadcaster: Traceable {
  /// The type of the broadcaster.
  public var traceName: String { "Broadcaster of \(Element.self)" }
}

extension CurrentValue: Traceable {
  /// The type of the state.
  public var traceName: String { "CurrentValue of \(Value.self)" }
}
