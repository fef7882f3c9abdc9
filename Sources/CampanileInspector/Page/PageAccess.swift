#if Page
  /// Decides who may see a page, and which requests are answered.
  struct PageAccess: Sendable {
    /// The answer to a request.
    enum Answer: Equatable {
      case document
      /// The stream of events, of rows that fit the query.
      case events(search: String)
      case refusal(PageStatus)
    }

    let port: UInt16
    private let secret: String

    init(port: UInt16, secret: String = random()) { (self.port, self.secret) = (port, secret) }

    /// 128 random bits, in hexadecimal digits.
    static func random() -> String {
      let digits = Array("0123456789abcdef")
      return String((0..<32).map { _ in digits[Int.random(in: 0..<16)] })
    }

    var url: String { "http://127.0.0.1:\(port)/\(secret)/" }

    /// Decides on a request.
    ///
    /// A page of another site can send requests from a browser on this computer. If its name has
    /// been bound to this address (DNS rebinding), its requests name its own host. Otherwise they
    /// name its own origin. Both are refused, even with the correct secret.
    func answer(to request: PageRequest) -> Answer {
      var hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
      // Browsers leave out the port that HTTP has without one.
      if port == 80 { hosts += ["127.0.0.1", "localhost"] }
      guard let host = request.host, hosts.contains(host) else { return .refusal(.forbidden) }
      if let origin = request.origin, origin != "http://\(host)" { return .refusal(.forbidden) }
      if request.method != "GET" { return .refusal(.methodNotAllowed) }
      let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 3, Self.isEqual(parts[1], secret) else { return .refusal(.notFound) }
      switch parts[2] {
      case "": return .document
      case "events": return .events(search: "")
      case let target where target.hasPrefix("events?"): return .events(search: String(target))
      default: return .refusal(.notFound)
      }
    }

    /// Compares two texts in constant time.
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

  /// The resources that a page may use, whatever the requests.
  struct PageLimits: Sendable {
    /// The number of open connections.
    ///
    /// Further ones wait to be accepted.
    var connections = 64
    /// The number of browsers that are shown the page.
    var streams = 8
    /// The greatest number of bytes of a request line and its header fields.
    var headerBytes = 8_192
    /// The greatest number of further bytes that are read of a refused request.
    var refusedBytes = 4_194_304
    /// The time limit for receiving a request, and for writing a response.
    var patience = Duration.seconds(5)
    /// The shortest time between two updates.
    var interval = Duration.milliseconds(250)
    /// How many times as long as it computes a section the page rests at least.
    ///
    /// After the last posts, which are to be fresh, it is a sixth of that. So six sections take less than
    /// 1.5 % of a core.
    var rest = 799
    /// The number of intervals without an update after which a comment is sent.
    var quietIntervals = 8
  }
#endif
