public import Campanile

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A message that a ``Relay`` can carry to other processes.
///
/// ```swift
/// struct TrackChanged: RelayedMessage {
///   static let relaySubject: RelaySubject<Self> = "player.track.changed"
///   var title: String
/// }
/// ```
///
/// The message is sent as JSON, unless the type supplies its own bytes. Because other processes may
/// have another version of the type, make a field that you add later optional, or give it a default
/// in an `init(from:)`. If a process cannot decode a message, it reports that, and its observers
/// don't receive the message.
public protocol RelayedMessage: MessageCenter.Message, Codable {
  /// The name under which messages of the type are sent, which is the same in each process.
  static var relaySubject: RelaySubject<Self> { get }

  /// The version of the encoded data, which is sent with each message. The default is 0.
  ///
  /// A type that has changed reads the sender's version in `init(from:)`, under
  /// `CodingUserInfoKey.relayVersion`.
  static var relayVersion: Int { get }

  /// The encoded message.
  ///
  /// The default is JSON. A type that implements this method also implements
  /// ``init(relayPayload:version:)``.
  func relayPayload() throws -> [UInt8]

  /// Decodes a message from a process in which the type has this version.
  init(relayPayload: [UInt8], version: Int) throws
}

extension RelayedMessage {
  /// Version 0, the default.
  public static var relayVersion: Int { 0 }

  /// The message as JSON.
  public func relayPayload() throws -> [UInt8] { try JSON.encode(self) }

  /// Decodes the message from JSON.
  public init(relayPayload: [UInt8], version: Int) throws {
    let decoder = JSONDecoder()
    decoder.userInfo[.relayVersion] = version
    self = try decoder.decode(Self.self, from: Data(relayPayload))
  }
}

extension CodingUserInfoKey {
  /// The version of the type that encoded a message, an `Int`.
  public static let relayVersion = CodingUserInfoKey(rawValue: "CampanileRelayVersion")!
}

/// Encodes and decodes messages and the answers to requests, which are sent as JSON.
enum JSON {
  static func encode(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return [UInt8](try encoder.encode(value))
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }
}
