#if NATS
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// A server's description of itself, which it sends first and after each change.
  struct ServerInfo: Hashable, Sendable, Decodable {
    var id = ""
    var name = ""
    var version = ""
    var hasHeaders = false
    /// The bytes that headers and payload of a message have at the most.
    var maxPayload = 1 << 20
    var requiresTLS = false
    var offersTLS = false
    /// Text to sign for clients that prove their identity with a key.
    var nonce: String?
    /// Other servers of the cluster, each a host with a port.
    var others: [String]?
    /// Whether the server is about to shut down.
    var isLameDuck = false
    var hasJetStream = false

    init() {}

    init(json: [UInt8]) throws(ProtocolError) {
      do {
        self = try JSONDecoder().decode(Self.self, from: Data(json))
      } catch {
        throw ProtocolError("The server's INFO cannot be read.")
      }
      if maxPayload <= 0 {
        throw ProtocolError("The server takes payloads of \(maxPayload) bytes.")
      }
    }

    private enum CodingKeys: String, CodingKey {
      case id = "server_id"
      case name = "server_name"
      case version, headers, nonce, ldm, jetstream
      case maxPayload = "max_payload"
      case requiresTLS = "tls_required"
      case offersTLS = "tls_available"
      case others = "connect_urls"
    }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      func value<Value: Decodable>(_ key: CodingKeys, _ other: Value) throws -> Value {
        try values.decodeIfPresent(Value.self, forKey: key) ?? other
      }
      id = try value(.id, "")
      name = try value(.name, "")
      version = try value(.version, "")
      hasHeaders = try value(.headers, false)
      maxPayload = try value(.maxPayload, 1 << 20)
      requiresTLS = try value(.requiresTLS, false)
      offersTLS = try value(.offersTLS, false)
      nonce = try values.decodeIfPresent(String.self, forKey: .nonce)
      others = try values.decodeIfPresent([String].self, forKey: .others)
      isLameDuck = try value(.ldm, false)
      hasJetStream = try value(.jetstream, false)
    }

    /// Whether the version is this one or a later one.
    func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
      let parts = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
      guard parts.count == 2 else { return false }
      return (parts[0], parts[1]) >= (major, minor)
    }
  }
#endif
