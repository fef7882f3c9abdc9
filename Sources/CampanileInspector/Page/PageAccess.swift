#if Page
  /// Who may see a page, and what they may ask for.
  struct PageAccess: Sendable {
    /// What a request is answered with.
    enum Answer: Equatable {
      case document
      case events
      case refusal(PageStatus)
    }

    let port: UInt16
    private let secret: String

    init(port: UInt16) {
      var generator = SystemRandomNumberGenerator()
      self.init(port: port, secret: Self.random(&generator))
    }

    init(port: UInt16, secret: String) {
      self.port = port
      self.secret = secret
    }

    /// 128 random bits, in hexadecimal digits.
    static func random(_ generator: inout some RandomNumberGenerator) -> String {
      let digits = Array("0123456789abcdef")
      return String((0..<32).map { _ in digits[Int.random(in: 0..<16, using: &generator)] })
    }

    var url: String { "http://127.0.0.1:\(port)/\(secret)/" }

    /// Decides on a request.
    ///
    /// A page of another site can send requests here from a browser on this computer. Its requests
    /// name its own host if its name has been bound to this address (DNS rebinding), and its own
    /// origin otherwise. Both are refused, whatever else it knows.
    func answer(to request: PageRequest) -> Answer {
      let hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
      guard let host = request.host, hosts.contains(host) else { return .refusal(.forbidden) }
      if let origin = request.origin, origin != "http://\(host)" { return .refusal(.forbidden) }
      if request.method != "GET" { return .refusal(.methodNotAllowed) }
      let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 3, Self.isEqual(parts[1], secret) else { return .refusal(.notFound) }
      switch parts[2] {
      case "": return .document
      case "events": return .events
      default: return .refusal(.notFound)
      }
    }

    /// Compares in a time that does not depend on where two texts differ.
    private static func isEqual(_ one: Substring, _ other: String) -> Bool {
      guard one.utf8.count == other.utf8.count else { return false }
      return zip(one.utf8, other.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
  }

  /// The statuses that a page answers with.
  enum PageStatus: String, Error, CaseIterable {
    case ok = "200 OK"
    case badRequest = "400 Bad Request"
    case forbidden = "403 Forbidden"
    case notFound = "404 Not Found"
    case methodNotAllowed = "405 Method Not Allowed"
    case headerTooLarge = "431 Request Header Fields Too Large"
    case busy = "503 Service Unavailable"
  }

  /// How much of a computer a page may take, whoever asks.
  struct PageLimits: Sendable {
    /// As many connections are open at a time; further ones wait to be accepted.
    var connections = 64
    /// As many browsers are shown the page at a time.
    var streams = 8
    /// A request line and its header fields have at most so many bytes.
    var headerBytes = 8_192
    /// Of a request that is refused, so many further bytes are read at most.
    var refusedBytes = 4_194_304
    /// Within this time a request is complete, and what is written is taken.
    var patience = Duration.seconds(5)
    /// What is new is sent at most so often.
    var interval = Duration.milliseconds(250)
    /// After so many intervals without anything new a comment is sent.
    var quietIntervals = 8
  }
#endif
