/// What a relay reports besides messages.
public struct RelayEvent: Sendable, CustomStringConvertible {
  /// What happened.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    /// Messages did not reach this process, or another one: ``RelayEvent/count`` says how many.
    public static let lost = Kind(description: "lost")
    /// A message came that cannot be decoded.
    public static let undecodable = Kind(description: "undecodable")
    /// A message cannot be sent, because it cannot be encoded or is too long.
    ///
    /// Without a subject, a process was sent away that is another user's, or that does not speak as
    /// relays do.
    public static let refused = Kind(description: "refused")
    /// The server of the bus does not permit to send, or to listen, under a name.
    public static let denied = Kind(description: "denied")
    /// There is no connection, and trying again goes on.
    public static let unavailable = Kind(description: "unavailable")
  }

  /// What happened.
  public let kind: Kind
  /// The name of the messages, if it is about messages.
  public let subject: String?
  /// Who sent them, if that is known.
  public let sender: RelayPeer?
  /// How many messages it is about; `nil` if nobody can know.
  public let count: Int?
  /// The version that they were encoded with, if they cannot be decoded.
  public let version: Int?
  /// Why, as a sentence.
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

  /// The kind, what it is about, and the reason.
  public var description: String {
    var parts = ["\(kind)"]
    if kind == .lost { parts.append(count.map { "\($0)" } ?? "an unknown number") }
    if let subject { parts.append(subject) }
    if let sender { parts.append("from \(sender)") }
    if let version { parts.append("version \(version)") }
    return parts.joined(separator: " ") + ": " + reason
  }
}

/// A process, or a part of one, that is connected to the same bus.
public struct RelayPeer: Sendable, Hashable, CustomStringConvertible {
  /// A number that no other relay has.
  public let id: UInt64
  /// The name that it was given.
  public let name: String
  /// The process that it is in.
  public let processID: Int32
  /// Whether it passes the messages of the others on, at present.
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

/// Whether a relay is connected.
public enum RelayState: Sendable, Hashable {
  /// There is no connection yet, or none any more, and the relay looks for one.
  case connecting
  /// There can be no connection for a reason, which is a sentence; the relay tries again each second.
  case unavailable(String)
  /// What is posted travels at once.
  case connected
  /// The relay has been drained or canceled.
  case ended
}

/// What a relay throws.
public struct RelayError: Error, Sendable, CustomStringConvertible {
  /// What went wrong.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code.
    public let description: String

    /// The relay has been drained or canceled.
    public static let ended = Code(description: "ended")
    /// Nobody on the bus answers such requests.
    public static let nobodyAnswers = Code(description: "nobodyAnswers")
    /// No answer came in time.
    public static let timedOut = Code(description: "timedOut")
    /// Whoever was asked could not answer; the message has the reason that it gave.
    public static let failed = Code(description: "failed")
    /// The connection was lost before the answer came; it may have been on its way.
    public static let disconnected = Code(description: "disconnected")
  }

  /// What went wrong.
  public let code: Code
  /// A sentence for people.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The code and the sentence.
  public var description: String { "\(code): \(message)" }
}
