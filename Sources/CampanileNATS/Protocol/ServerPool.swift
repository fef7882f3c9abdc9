#if NATS
  /// The servers that there are, and which of them to try when.
  ///
  /// Each is tried once without waiting; then a pause follows, longer from pass to pass. Nothing
  /// ends the trying.
  struct ServerPool {
    enum Step: Equatable {
      case connect(ServerAddress)
      case wait(milliseconds: Int)
    }

    /// Those that were given.
    let given: [ServerAddress]
    /// Those that servers have told.
    private var learned: [ServerAddress] = []
    private var untried: [ServerAddress]
    private var passes = 0
    /// The server that is, or was, connected.
    private(set) var current: ServerAddress?

    /// The longest pause.
    static let longestPause = 2_000

    init(_ given: [ServerAddress], _ random: inout some RandomNumberGenerator) {
      self.given = given
      untried = given.shuffled(using: &random)
    }

    var all: [ServerAddress] { given + learned.filter { !given.contains($0) } }

    /// What to do without a connection.
    mutating func next(_ random: inout some RandomNumberGenerator) -> Step {
      if let next = untried.popLast() {
        current = next
        return .connect(next)
      }
      untried = all.shuffled(using: &random)
      passes += 1
      let pause = min(Self.longestPause, 50 << min(passes, 10))
      return .wait(milliseconds: .random(in: pause / 2...pause, using: &random))
    }

    /// Another server than the present one, if there is any.
    func another(_ random: inout some RandomNumberGenerator) -> ServerAddress? {
      all.filter { $0 != current }.randomElement(using: &random)
    }

    mutating func connected(to server: ServerAddress, _ random: inout some RandomNumberGenerator) {
      (current, passes) = (server, 0)
      // When the connection ends, its server is tried last: it may have ended.
      untried = [server] + all.filter { $0 != server }.shuffled(using: &random)
    }

    /// Servers of the cluster, as one of them tells: those that it doesn't tell any more have left.
    mutating func learn(_ hosts: [String]) {
      learned = hosts.compactMap { host in
        guard var address = try? ServerAddress.parse(host).address else { return nil }
        address.isSecure = given.contains(where: \.isSecure)
        return address
      }
      let known = Set(all)
      untried.removeAll { !known.contains($0) }
      for address in known.subtracting(untried) where address != current { untried.append(address) }
    }

    /// The name that a server's certificate must have: that of a given one, where a server was
    /// learned by its address.
    func certificateName(of server: ServerAddress) -> String? {
      if !server.isNumeric { return server.host }
      return given.contains(server) ? nil : given.first { !$0.isNumeric }?.host
    }
  }
#endif
