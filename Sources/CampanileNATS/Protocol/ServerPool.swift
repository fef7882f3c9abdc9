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
    private var untried: [ServerAddress] = []
    private var passes = 0
    /// Whether the servers are tried in a random order, or as they were given and reported.
    private let isShuffled: Bool
    /// The longest pause, in milliseconds.
    private let longestPause: Int

    init(
      _ given: [ServerAddress], isShuffled: Bool = true, longestPause: Int = 2_000,
      _ random: inout some RandomNumberGenerator
    ) {
      (self.given, self.isShuffled, self.longestPause) = (given, isShuffled, longestPause)
      untried = arranged(given, &random)
    }

    /// The servers, the one to be tried first at the end.
    private func arranged(
      _ servers: [ServerAddress], _ random: inout some RandomNumberGenerator
    ) -> [ServerAddress] {
      isShuffled ? servers.shuffled(using: &random) : servers.reversed()
    }

    var all: [ServerAddress] { given + learned.filter { !given.contains($0) } }

    /// The next step without a connection, or to replace one.
    mutating func next(_ random: inout some RandomNumberGenerator) -> Step {
      if let next = untried.popLast() { return .connect(next) }
      untried = forgotten.prefix(1) + arranged(all, &random)
      if !forgotten.isEmpty { forgotten.append(forgotten.removeFirst()) }
      passes += 1
      return .wait(milliseconds: pause(after: passes, &random))
    }

    /// How many milliseconds to wait after so many attempts in vain.
    func pause(after count: Int, _ random: inout some RandomNumberGenerator) -> Int {
      let pause = min(longestPause, 50 << min(count, 21))
      return .random(in: pause / 2...pause, using: &random)
    }

    /// A connection has ended: the others are tried first, because its server may have ended, too.
    mutating func lost(_ server: ServerAddress, _ random: inout some RandomNumberGenerator) {
      untried = all.filter { $0 == server } + arranged(all.filter { $0 != server }, &random)
      passes = 0
    }

    /// Forgets all servers for those of another list.
    mutating func replaceServers(
      with servers: [ServerAddress], _ random: inout some RandomNumberGenerator
    ) {
      self = Self(servers, isShuffled: isShuffled, longestPause: longestPause, &random)
    }

    /// Stores the servers of the cluster, as one of them reports them.
    ///
    /// They are tried from the next connection, or the next pause, on. Servers that are not reported any
    /// more have left, most likely.
    mutating func learn(_ hosts: [String]) {
      let before = learned
      learned = hosts.compactMap { host in
        guard var address = try? ServerAddress.parse(host).address else { return nil }
        address.isSecure = given.contains(where: \.isSecure)
        return address
      }
      let known = Set(all)
      let gone = before.filter { !known.contains($0) }
      untried.removeAll { gone.contains($0) }
      let earlier = forgotten.filter { !known.contains($0) && !gone.contains($0) }
      forgotten = Array((gone + earlier).prefix(Self.forgottenLimit))
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
