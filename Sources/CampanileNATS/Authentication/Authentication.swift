#if NATS
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// How a relay authenticates at a server.
  enum Authentication: Hashable, Sendable {
    case none
    case user(String, password: Secret)
    case token(Secret)
    /// A seed, which begins with SU.
    case nkey(seed: Secret)
    /// A file with a token from the server's operator and the seed of its user.
    ///
    /// It is read at each connection, because it may have been renewed.
    case credentials(path: String)
  }

  /// The reason why a relay can't authenticate, as a sentence without a secret.
  struct AuthenticationError: Error, Hashable, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// The first message of a client, which describes the client.
  struct ConnectOptions: Encodable {
    var verbose = false
    var pedantic = false
    var tls_required = false
    var name: String
    var lang = "swift"
    var version = "1"
    // The server may say later which other servers there are, and that it ends.
    var `protocol` = 1
    var echo = false
    var headers = true
    var no_responders = true
    private var user: String?
    private var pass: String?
    private var auth_token: String?
    private var nkey: String?
    private var jwt: String?
    private var sig: String?

    init(name: String) { self.name = name }

    mutating func authenticate(
      _ authentication: Authentication, nonce: String?
    ) throws(AuthenticationError) {
      switch authentication {
      case .none: break
      case .user(let name, let password): (user, pass) = (name, password.text)
      case .token(let token): auth_token = token.text
      case .nkey(let seed):
        let key = try NKey(seed: seed)
        nkey = key.publicKey
        sig = try Self.sign(nonce, with: key)
      case .credentials(let path):
        let credentials = try Credentials(contentsOf: path)
        jwt = credentials.token.text
        sig = try Self.sign(nonce, with: credentials.key)
      }
    }

    private static func sign(_ nonce: String?, with key: NKey) throws(AuthenticationError) -> String
    {
      guard let nonce else {
        throw AuthenticationError("The server asks for no signature, so that a key says nothing.")
      }
      return try key.sign(nonce)
    }

    var json: [UInt8] {
      // Texts, numbers and truths can be encoded.
      [UInt8](try! JSONEncoder().encode(self))
    }
  }

  /// The contents of a file of credentials.
  struct Credentials {
    let token: Secret
    let key: NKey

    init(contentsOf path: String) throws(AuthenticationError) {
      guard let data = try? Data(contentsOf: URL(filePath: path)) else {
        throw AuthenticationError("The file of credentials \"\(path)\" can't be read.")
      }
      let lines = String(decoding: data, as: UTF8.self).split { $0.isNewline }
      func section(_ name: String) throws(AuthenticationError) -> Secret {
        guard let start = lines.firstIndex(where: { $0.contains("BEGIN \(name)") }),
          let line = lines[(start + 1)...].first, !line.hasPrefix("-")
        else {
          throw AuthenticationError("The file of credentials \"\(path)\" has no section \(name).")
        }
        return Secret(String(line.filter { !$0.isWhitespace }))
      }
      token = try section("NATS USER JWT")
      key = try NKey(seed: try section("USER NKEY SEED"))
    }
  }
#endif
