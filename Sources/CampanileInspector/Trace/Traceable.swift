public import Campanile

/// A source that a ``Trace`` can follow.
public protocol Traceable: AnyObject, Sendable {
  /// What happens at the source.
  var events: Signal<SourceEvent> { get }
  /// The live observations, oldest first.
  var registrations: [RegistrationDescription] { get }
  /// What a trace calls the source.
  var traceName: String { get }
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
