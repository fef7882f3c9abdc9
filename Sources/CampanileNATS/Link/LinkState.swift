#if NATS
  import CampanileRelay
  import NIOCore

  /// The connections of a link, and what it does on them.
  ///
  /// There is one connection, and a second one while the server of the first shuts down. The relay
  /// subscribes on the second before it leaves the first. Once the second has confirmed the
  /// subscriptions, it is not read until the first has sent all its messages, and what has arrived
  /// on it waits. Duplicates are recognized by their numbers. A server of the cluster that does not
  /// know the second connection yet sends only to the first. Messages still on their way when the
  /// first answers the last ping are lost, and are counted like any gap.
  struct LinkState {
    struct Line {
      let address: ServerAddress
      var state: ConnectionState
      var connection: NATSConnection?
      /// The bytes to write there in addition to the session's.
      var output = ByteBuffer()
      /// Messages that wait for the end of the other connection.
      var held: [ServerMessage] = []
      /// The bytes of what has arrived with them, about.
      var heldBytes = 0
      /// For how many seconds it has been open.
      var age = 0
      /// How many times it was asked for the rest of what it has to send, and has not answered.
      var lastPingCount = 0
    }

    /// The actions to perform outside the lock.
    struct Effects {
      var sends: [(connection: NATSConnection, bytes: ByteBuffer)] = []
      var closes: [NATSConnection] = []
      var connects: [(number: Int, address: ServerAddress, certificateName: String?)] = []
      /// To try again after so many milliseconds, with the number of this pause.
      var wait: (milliseconds: Int, number: Int)?
      var incidents: [RelayIncident] = []
      /// Whether the incidents are not all messages.
      var hasNews: Bool { messageCount < incidents.count }
      /// How many of the incidents are messages, and how many posts are among the bytes to send.
      var (messageCount, sentCount) = (0, 0)
      /// Whether another server has taken the place of one that ends.
      var hasChangedServers = false
    }

    var session: NATSSession
    var pool: ServerPool
    var configuration: NATSConfiguration
    var isReading = true
    var lines: [Int: Line] = [:]
    var current: Int?
    var next: Int?
    /// Whether the present connection is asked for the last that it has to send.
    var isHandingOver = false
    /// For how many seconds the second connection has been open, or the first one asked for that.
    var handOverSeconds = 0
    /// The relay's operations, and acknowledgments, that wait while connections change.
    var deferred: [@Sendable (inout NATSSession) -> Void] = []
    var lastNumber = 0
    /// The number of the last pause: the ends of those before mean nothing.
    var pauseNumber = 0
    /// How many connections in a row have ended as soon as they were open.
    var shortCount = 0
    var isStopped = false
    /// Reasons that have been reported since there was a connection, or the last of them.
    var reported: Set<String> = []
    /// So many reasons are remembered, and so many characters of each are reported: a server can
    /// give any reason.
    static let (reasonLimit, lengthLimit) = (64, 512)
    var effects = Effects()
    var random = SystemRandomNumberGenerator()

    init(_ session: NATSSession, _ configuration: NATSConfiguration) {
      self.session = session
      self.configuration = configuration
      pool = ServerPool(
        configuration.servers, isShuffled: configuration.shufflesServers,
        longestPause: configuration.longestPause, &random)
    }

    // MARK: What the relay wants

    mutating func perform(_ operations: [RelayOperation]) {
      // The next connection has the subscriptions that there were when it was opened.
      let isChanging = isHandingOver || nextIsOpen
      if !isChanging { return session.perform(operations) }
      // Posts are bounded by the outbox.
      session.perform(operations.filter(\.isPost))
      let others = operations.filter { !$0.isPost }
      if !others.isEmpty { deferred.append { $0.perform(others) } }
    }

    /// A message of a stream has been delivered, or is given back.
    mutating func settle(_ subject: String, isTaken: Bool) {
      // Bytes written while the first server sends its rest would reach neither server.
      if !isHandingOver { return session.settle(subject, isTaken: isTaken) }
      deferred.append { $0.settle(subject, isTaken: isTaken) }
    }

    mutating func performDeferred() {
      for perform in deferred { perform(&session) }
      deferred = []
    }

    var nextIsOpen: Bool { next.flatMap { lines[$0]?.state.isOpen } == true }

    mutating func setReading(_ reads: Bool) -> [NATSConnection] {
      isReading = reads
      return lines.compactMap { reads && isHeldBack($0) ? nil : $1.connection }
    }

    /// - Returns: The connections to write the last bytes to, and those to close at once.
    mutating func stop() -> (last: (NATSConnection, ByteBuffer)?, others: [NATSConnection]) {
      isStopped = true
      performDeferred()
      session.leave()
      let last = current.flatMap { lines[$0]?.connection }
      let others = next.flatMap { lines[$0]?.connection }
      (lines, current, next) = ([:], nil, nil)
      return (last.map { ($0, session.output) }, [others].compactMap { $0 })
    }

    /// Whether a connection is the second one, and waits for the rest of the first one.
    func isHeldBack(_ number: Int) -> Bool { number == next && isHandingOver }

    // MARK: Connecting

    /// Looks for a server, unless there is one.
    mutating func connect() {
      guard !isStopped, current == nil else { return }
      if let reason = configuration.mistake { return session.disconnected(reason) }
      switch pool.next(&random) {
      case .connect(let address): current = open(address)
      case .wait(let milliseconds):
        pauseNumber += 1
        effects.wait = (milliseconds, pauseNumber)
      }
    }

    /// A pause is over.
    mutating func waited(_ number: Int) { if number == pauseNumber { connect() } }

    /// Leaves the server, and looks for one as if the server had ended the connection.
    mutating func reconnect() {
      if isStopped { return }
      session.asksForDenied = true
      // Whatever is not open yet may have authenticated as before. What waits unread on the second
      // connection is lost, as on any connection that is left.
      if let next { end(next, nil) }
      if let current, lines[current]?.state.isOpen == true { return end(current, nil) }
      // One that is not open yet has not failed.
      if let current, let connection = lines.removeValue(forKey: current)?.connection {
        effects.closes.append(connection)
      }
      current = nil
      connect()
    }

    /// Leaves the server for one of another list.
    ///
    /// - Parameter other: The servers, and how to authenticate if their addresses say so.
    mutating func reconnect(to other: NATSConfiguration) {
      if isStopped { return }
      if other.authentication != .none { configuration.authentication = other.authentication }
      configuration.mistake = nil
      pool.replaceServers(with: other.servers, &random)
      reconnect()
    }

    mutating func open(_ address: ServerAddress) -> Int {
      lastNumber += 1
      lines[lastNumber] = Line(
        address: address,
        state: ConnectionState(
          openingLimit: configuration.connectTimeout, pingInterval: configuration.pingInterval))
      effects.connects.append((lastNumber, address, pool.certificateName(of: address)))
      return lastNumber
    }

    mutating func handle(_ event: NATSConnection.Event, of number: Int) {
      guard lines[number] != nil else {
        if case .connected(let connection) = event { effects.closes.append(connection) }
        return
      }
      switch event {
      case .connected(let connection):
        lines[number]?.connection = connection
        if !isReading { connection.setReading(false) }
      case .frames(let frames, let byteCount, _):
        guard var state = lines[number]?.state else { return }
        var actions: [ConnectionState.Action] = []
        for frame in frames { state.received(frame, &actions) }
        if frames.isEmpty { state.receivedPart() }
        lines[number]?.state = state
        for action in actions { perform(action, on: number) }
        // A server that sends so much before it has confirmed the subscriptions is read at once.
        if number == next, nextIsOpen, !isHandingOver, let held = lines[number]?.held.count {
          lines[number]!.heldBytes += byteCount
          let cost = lines[number]!.heldBytes + held * Self.heldCost
          if held > 0, cost > Self.heldLimit { handOver() }
        }
        // Another thread may have applied late what was wanted before.
        if isHeldBack(number) { lines[number]?.connection?.setReading(false) }
      case .closed(let reason):
        closed(number, reason, byServer: true)
      }
    }

    /// So many bytes may wait before the second server has confirmed the subscriptions, and so many
    /// does each message take in addition to its own.
    static let (heldLimit, heldCost) = (4 << 20, 128)

    mutating func perform(_ action: ConnectionState.Action, on number: Int) {
      guard lines[number] != nil else { return }
      switch action {
      case .messages(let messages):
        if number == current {
          session.received(messages)
        } else {
          lines[number]?.held += messages
        }
      case .introduce(let info): introduce(number, info)
      case .sendPing: lines[number]?.output.writePing()
      case .sendPong: lines[number]?.output.writePong()
      case .open(let info): opened(number, info)
      case .update(let info): updated(number, info)
      case .confirmed(let mark): confirmed(mark, on: number)
      case .denied(let denial): session.denied(denial)
      case .close(let reason): end(number, reason)
      }
    }

    mutating func introduce(_ number: Int, _ info: ServerInfo) {
      var options = ConnectOptions(name: session.name)
      options.pedantic = configuration.isPedantic
      do throws(AuthenticationError) {
        try options.authenticate(configuration.authentication, nonce: info.nonce)
        lines[number]?.output.writeConnect(json: options.json)
      } catch {
        end(number, error.description)
      }
    }

    mutating func opened(_ number: Int, _ info: ServerInfo) {
      if number == current {
        reported = []
        session.connected(info)
      } else {
        handOverSeconds = 0
        session.writeSubscriptions(to: &lines[number]!.output, isNext: true)
        lines[number]!.output.writePing()
        lines[number]!.state.pinged(marking: Self.firstFlag)
      }
    }

    mutating func updated(_ number: Int, _ info: ServerInfo) {
      if configuration.usesReportedServers, let others = info.others { pool.learn(others) }
      if number == current { session.updated(info) }
    }

    mutating func confirmed(_ mark: UInt64, on number: Int) {
      if number == current {
        // It may have become the present connection before this answer, which confirms no posts.
        if mark == Self.firstFlag { return }
        let isLast = mark & Self.lastFlag != 0
        session.confirmed(mark & ~Self.lastFlag, isOwnPing: !isLast)
        if !isLast { return }
        lines[number]?.lastPingCount -= 1
        // Another server may have been tried before, and an earlier answer is not the last.
        if isHandingOver, nextIsOpen, lines[number]?.lastPingCount == 0 { handOver() }
      } else if number == next {
        // The other server sends all messages from now on, so the first one is asked for the rest.
        (isHandingOver, handOverSeconds) = (true, 0)
        lines[number]?.connection?.setReading(false)
        guard let current, lines[current] != nil else { return }
        lines[current]!.output.writePing()
        lines[current]!.state.pinged(marking: session.outbox.sentMark | Self.lastFlag)
        lines[current]!.lastPingCount += 1
      }
    }

    /// How many seconds the first server has for the rest of what it has to send.
    ///
    /// Before, the second one has as long to confirm the subscriptions as it had to accept the relay.
    static let handOverLimit = 2

    /// Is added to the mark of a ping that asks a server for the rest of what it has to send.
    static let lastFlag: UInt64 = 1 << 63
    /// The mark of the ping that asks a second server whether it has the subscriptions.
    static let firstFlag: UInt64 = 1 << 62
  }

  extension RelayOperation {
    var isPost: Bool { if case .posts = self { true } else { false } }
  }
#endif
