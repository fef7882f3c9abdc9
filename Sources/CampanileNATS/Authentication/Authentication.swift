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
  #if NKeys
    /// A seed, which begins with SU.
    case nkey(seed: Secret)
    /// A file with a token from the server's operator and the seed of its user.
    ///
    /// It is read at each connection, because it may have been renewed.
    case credentials(path: String)
  #endif
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
    #if NKeys
      case .nkey(let seed):
        let key = try NKey(seed: seed)
        nkey = key.publicKey
        sig = try key.sign(nonce)
      case .credentials(let path):
        let credentials = try Credentials(contentsOf: path)
        jwt = credentials.token.text
        sig = try credentials.key.sign(nonce)
    #endif
    }
  }

  var json: [UInt8] {
    // Texts, numbers and truths can be encoded.
    [UInt8](try! JSONEncoder().encode(self))
  }
}
