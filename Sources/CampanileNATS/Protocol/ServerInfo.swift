#if NATS
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// A server's description of itself, which it sends first and after each change.
  struct ServerInfo: Hashable, Sendable {
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

    init() {}

    init(json: [UInt8]) throws(ProtocolError) {
      guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(json)) else {
        throw ProtocolError("The server's INFO cannot be read.")
      }
      version = fields.version ?? ""
      hasHeaders = fields.headers ?? false
      maxPayload = fields.max_payload ?? maxPayload
      requiresTLS = fields.tls_required ?? false
      offersTLS = fields.tls_available ?? false
      (nonce, others) = (fields.nonce, fields.connect_urls)
      isLameDuck = fields.ldm ?? false
      if maxPayload <= 0 {
        throw ProtocolError("The server takes payloads of \(maxPayload) bytes.")
      }
    }

    private struct Fields: Decodable {
      var version, nonce: String?
      var headers, tls_required, tls_available, ldm: Bool?
      var max_payload: Int?
      var connect_urls: [String]?
    }

    /// Whether the version is this one or a later one.
    func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
      let parts = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
      guard parts.count == 2 else { return false }
      return (parts[0], parts[1]) >= (major, minor)
    }
  }
#endif
