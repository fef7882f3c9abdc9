#if NATS
  /// The known servers, and the order in which to try them.
  ///
  /// Each is tried once without waiting; then a pause follows, longer from pass to pass. The
  /// attempts never end.
  struct ServerPool {
    enum Step: Equatable {
      case connect(ServerAddress)
      case wait(milliseconds: Int)
    }

    /// The configured servers.
    let given: [ServerAddress]
    /// The servers that other servers have reported.
    private var learned: [ServerAddress] = []
    /// Those that are not reported any more, the next one to try first.
    ///
    /// One of them is tried in a pass, when no other server can be reached: an attempt may take seconds.
    /// A server that is cut off from the others, and then ends, has reported that there are none.
    private var forgotten: [ServerAddress] = []
    /// So many of them are remembered.
    private static let forgottenLimit = 16
    private var untried: [ServerAddress]
    /// The servers that have been tried since the last pause.
    private var tried: Set<ServerAddress> = []
    private var passes = 0
    /// Whether the servers are tried in a random order, or as they were given and reported.
    private let isShuffled: Bool
    /// The server that is, or was, connected.
    private(set) var current: ServerAddress?

    /// The server that was connected, which is the first of the untried ones until it is tried.
    private var former: ServerAddress?
    /// The servers that have been named to take the place of the present one.
    private var named: Set<ServerAddress> = []
    /// The longest pause, in milliseconds.
    private let longestPause: Int

    init(
      _ given: [ServerAddress], isShuffled: Bool = true, longestPause: Int = 2_000,
      _ random: inout some RandomNumberGenerator
    ) {
      (self.given, self.isShuffled, self.longestPause) = (given, isShuffled, longestPause)
      untried = []
      untried = arranged(given, &random)
    }

    /// The servers, the one to be tried first at the end.
    private func arranged(
      _ servers: [ServerAddress], _ random: inout some RandomNumberGenerator
    ) -> [ServerAddress] {
      isShuffled ? servers.shuffled(using: &random) : servers.reversed()
    }

    var all: [ServerAddress] { given + learned.filter { !given.contains($0) } }

    /// The next step without a connection.
    mutating func next(_ random: inout some RandomNumberGenerator) -> Step {
      if let next = untried.popLast() {
        current = next
        tried.insert(next)
        return .connect(next)
      }
      (untried, tried, former) = (forgotten.prefix(1) + arranged(all, &random), [], nil)
      if !forgotten.isEmpty { forgotten.append(forgotten.removeFirst()) }
      passes += 1
      return .wait(milliseconds: pause(after: passes, &random))
    }

    /// How many milliseconds to wait after so many attempts in vain.
    func pause(after count: Int, _ random: inout some RandomNumberGenerator) -> Int {
      let pause = min(longestPause, 50 << min(count, 21))
      return .random(in: pause / 2...pause, using: &random)
    }

    /// Another server than the present one, if there is any; each of them once before any again.
    mutating func another(_ random: inout some RandomNumberGenerator) -> ServerAddress? {
      let others = all.filter { $0 != current }
      if named.isSuperset(of: others) { named = [] }
      let other = arranged(others.filter { !named.contains($0) }, &random).last
      if let other { named.insert(other) }
      return other
    }

    mutating func connected(to server: ServerAddress, _ random: inout some RandomNumberGenerator) {
      (current, former, passes, tried, named) = (server, server, 0, [], [])
      // When the connection ends, its server is tried last: it may have ended.
      untried = [server] + arranged(all.filter { $0 != server }, &random)
    }

    /// Forgets all servers for those of another list.
    mutating func replaceServers(
      with servers: [ServerAddress], _ random: inout some RandomNumberGenerator
    ) {
      self = Self(servers, isShuffled: isShuffled, longestPause: longestPause, &random)
    }

    /// Stores the servers of the cluster, as one of them reports them.
    ///
    /// Servers that are not reported any more have left, most likely.
    mutating func learn(_ hosts: [String]) {
      let before = learned
      learned = hosts.compactMap { host in
        guard var address = try? ServerAddress.parse(host).address else { return nil }
        address.isSecure = given.contains(where: \.isSecure)
        return address
      }
      let known = Set(all)
      let gone = before.filter { !known.contains($0) }
      let earlier = forgotten.filter { !known.contains($0) && !gone.contains($0) }
      forgotten = Array((gone + earlier).prefix(Self.forgottenLimit))
      untried.removeAll { !known.contains($0) }
      // Servers tried in this pass are tried after the pause: each may report the others every time.
      let new = known.subtracting(untried).subtracting(tried).filter { $0 != current }
      if isShuffled {
        untried += new
      } else {
        // The server that was connected stays the last to be tried.
        untried.insert(
          contentsOf: all.filter(new.contains).reversed(),
          at: former != nil && untried.first == former ? 1 : 0)
      }
    }

    /// The name that a server's certificate must have.
    ///
    /// If a server was learned by its numeric address, it is the name of a configured server.
    func certificateName(of server: ServerAddress) -> String? {
      if !server.isNumeric { return server.host }
      return given.contains(server) ? nil : given.first { !$0.isNumeric }?.host
    }
  }
#endif
