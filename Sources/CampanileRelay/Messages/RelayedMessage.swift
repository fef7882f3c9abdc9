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
/// It travels as JSON, unless the type supplies its bytes. Other processes may be of another
/// version: a field that is added later is optional, or has a default in an `init(from:)` of the
/// type's own. A process that cannot decode a message reports it, and hears nothing.
public protocol RelayedMessage: MessageCenter.Message, Codable {
  /// The name under which messages of the type travel, the same in each process.
  static var relaySubject: RelaySubject<Self> { get }

  /// The version of what is encoded, which travels along; 0 unless said.
  ///
  /// A type that has changed reads it in `init(from:)`, under `CodingUserInfoKey.relayVersion`.
  static var relayVersion: Int { get }

  /// The bytes that travel.
  ///
  /// Unless the type says otherwise, JSON. A type that supplies its bytes also reads them, in
  /// ``init(relayPayload:version:)``.
  func relayPayload() throws -> [UInt8]

  /// Reads what a process sent whose type has this version.
  init(relayPayload: [UInt8], version: Int) throws
}

extension RelayedMessage {
  /// No version.
  public static var relayVersion: Int { 0 }

  /// The message as JSON.
  public func relayPayload() throws -> [UInt8] { [UInt8](try JSONEncoder().encode(self)) }

  /// Reads JSON.
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

/// What else travels as JSON: the answers to requests.
enum JSON {
  static func encode(_ value: some Encodable) throws -> [UInt8] {
    [UInt8](try JSONEncoder().encode(value))
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }
}
