/// An event that a relay reports, such as a loss or a refusal.
public struct RelayEvent: Sendable, CustomStringConvertible {
  /// The kinds of events.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    /// Messages of other processes did not arrive here, or messages of this process could not be
    /// sent.
    ///
    /// A process reports the messages of others that it misses, and its own messages that were
    /// dropped from its full buffer before they were sent. One event may be about several messages,
    /// so add up ``RelayEvent/count``.
    public static let lost = Kind(description: "lost")
    /// A message arrived that cannot be decoded.
    public static let undecodable = Kind(description: "undecodable")
    /// A message cannot be sent.
    ///
    /// It cannot be encoded, it is too long, its name cannot be sent, or the stream that is to
    /// store it refuses it.
    ///
    /// An event without a subject is about a process that could not join, because it belongs to
    /// another user or does not use the protocol, or because this process has no file descriptors
    /// left.
    public static let refused = Kind(description: "refused")
    /// The server of the bus does not permit this process to send, or to listen, under a name.
    ///
    /// It is also reported when a stream is missing, or does not store a message, which the relay
    /// then tries again.
    public static let denied = Kind(description: "denied")
    /// The relay cannot connect, or its connection has ended for a known reason; it keeps trying.
    public static let unavailable = Kind(description: "unavailable")
  }

  /// The kind of the event.
  public let kind: Kind
  /// The name of the messages, if the event is about messages.
  ///
  /// For messages that were lost before they were encoded, it is the pattern of their names.
  public let subject: String?
  /// The relay that sent the messages of the event, if it is on the bus.
  ///
  /// It is `nil` for the messages of this relay.
  public let sender: RelayPeer?
  /// The number of messages that the event is about; `nil` if it cannot be known.
  public let count: Int?
  /// The sender's version of the type, if the messages cannot be decoded.
  public let version: Int?
  /// The reason, as a sentence.
  public let reason: String

  init(
    _ kind: Kind, subject: String? = nil, sender: RelayPeer? = nil, count: Int? = 1,
    version: Int? = nil, _ reason: String
  ) {
    self.kind = kind
    self.subject = subject
    self.sender = sender
    self.count = count
    self.version = version
    self.reason = reason
  }

  /// The event as one line.
  public var description: String {
    var parts = ["\(kind)"]
    if kind == .lost { parts.append(count.map { "\($0)" } ?? "an unknown number") }
    if let subject { parts.append(subject) }
    if let sender { parts.append("from \(sender)") }
    if let version { parts.append("version \(version)") }
    return parts.joined(separator: " ") + ": " + reason
  }
}

/// Another relay on the same bus, in this process or another one.
public struct RelayPeer: Sendable, Hashable, CustomStringConvertible {
  /// A number that no other relay has.
  public let id: UInt64
  /// The name of the relay.
  public let name: String
  /// The process that the relay belongs to.
  public let processID: Int32
  /// Whether it is the hub at present, which passes on the messages of the others.
  public let isHub: Bool

  package init(id: UInt64, name: String, processID: Int32, isHub: Bool) {
    self.id = id
    self.name = name
    self.processID = processID
    self.isHub = isHub
  }

  /// The name and the process.
  public var description: String { "\(name) (process \(processID))" }
}

/// The state of a relay's connection.
public enum RelayState: Sendable, Hashable {
  /// The relay is not connected yet, or has lost its connection, and is connecting.
  case connecting
  /// The relay cannot connect; the value is the reason, as a sentence.
  ///
  /// It tries again every second or two, unless its transport was given an invalid address.
  case unavailable(String)
  /// The relay is connected: posted messages are sent at once.
  case connected
  /// The relay has been drained or canceled.
  case ended
}

/// An error that a relay throws.
public struct RelayError: Error, Sendable, CustomStringConvertible {
  /// The kinds of errors that a relay throws.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code.
    public let description: String

    /// The relay has been drained or canceled.
    public static let ended = Code(description: "ended")
    /// No process on the bus answers such requests.
    public static let nobodyAnswers = Code(description: "nobodyAnswers")
    /// No answer arrived in time.
    public static let timedOut = Code(description: "timedOut")
    /// The relay that received the request could not answer; the message contains its reason.
    public static let failed = Code(description: "failed")
    /// The connection was lost before the answer arrived; the request may have been answered.
    public static let disconnected = Code(description: "disconnected")
    /// The request was not sent, because it or its name has more bytes than a relay carries, or because
    /// NATS takes no such name.
    public static let refused = Code(description: "refused")
  }

  /// The kind of the error.
  public let code: Code
  /// A sentence that describes the error.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The code and the sentence.
  public var description: String { "\(code): \(message)" }
}
