/// Something that happened at a source, for measuring and tracing.
///
/// The `events` of a ``MessageCenter``, a ``Broadcaster`` or a ``CurrentValue`` send one for each
/// post, call, registration and end:
///
/// ```swift
/// self.token = MessageCenter.default.events.observe { event in trace.record(event) }
/// ```
public struct SourceEvent: Sendable {
  /// What happened.
  public enum Kind: Sendable, Hashable {
    /// A value was posted or sent, whether or not anybody hears it.
    case posted
    /// An observer is about to be called.
    case called
    /// An observer was registered.
    case registered
    /// A registration ended.
    case ended
  }

  /// What happened.
  public let kind: Kind
  /// The type of the message or value.
  public let valueType: any Any.Type
  /// Where the observer was registered, unless the event is about none.
  private let location: SourceLocation?

  /// The file in which the observer was registered, as `#fileID` names it.
  public var file: String? { location?.fileName }
  /// The line at which the observer was registered.
  public var line: Int? { location?.line }

  init(_ kind: Kind, _ valueType: any Any.Type, _ location: SourceLocation?) {
    self.kind = kind
    self.valueType = valueType
    self.location = location
  }
}
