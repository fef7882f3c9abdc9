/// A source that can be inspected: its events and its observers.
///
/// A `Trace` of the module CampanileInspector records the events of such sources.
public protocol Traceable: Sendable {
  /// Reports each post, call and registration of the source.
  var events: Signal<SourceEvent> { get }
  /// The live observations, oldest first.
  var registrations: [RegistrationDescription] { get }
  /// The name of the source in a trace.
  var traceName: String { get }
  /// A closure that reads the live observations without keeping the source alive.
  ///
  /// It returns an empty array once the source has been released.
  var registrationsReader: @Sendable () -> [RegistrationDescription] { get }
}

extension Traceable where Self: AnyObject {
  /// A closure that reads the live observations for as long as the object lives.
  public var registrationsReader: @Sendable () -> [RegistrationDescription] {
    { [weak self] in self?.registrations ?? [] }
  }
}

extension MessageCenter: Traceable {
  /// `MessageCenter`, followed by the center's label if it has one.
  public var traceName: String { label.isEmpty ? "MessageCenter" : "MessageCenter \(label)" }
}

extension Broadcaster: Traceable {
  /// `Broadcaster of`, followed by the type of its values.
  public var traceName: String { "Broadcaster of \(Element.self)" }
}

extension CurrentValue: Traceable {
  /// `CurrentValue of`, followed by the type of its value.
  public var traceName: String { "CurrentValue of \(Value.self)" }
}
