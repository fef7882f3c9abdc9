#if NATS
  import CampanileRelay
  import NIOCore

  /// The connections of a link, and what it does on them.
  ///
  /// There is one connection, and a second one while the server of the first shuts down. The relay
  /// subscribes on the second before it leaves the first. Messages that arrive meanwhile on the
  /// second wait until the first has sent all its messages. If they are many, the second is not
  /// read until then. Duplicates are recognized by their numbers. A server of the cluster that does
  /// not know the second connection yet sends only to the first. Messages still on their way when
  /// the first answers the last ping are lost, and are counted like any gap.
  struct LinkState {
    private struct Line {
      let address: ServerAddress
      var state: ConnectionState
      var connection: NATSConnection?
      /// The bytes to write there in addition to the session's.
      var output = ByteBuffer()
      /// How many answers to pings are among these bytes.
      var pongs = 0
      /// Messages that wait for the end of the other connection.
      var held: [ServerMessage] = []
      /// Whether they are so many that the connection is not read until then.
      var isHeldBack = false
      /// The bytes of what has arrived with them, about.
      var heldBytes = 0
      /// For how many seconds it has been open.
      var age = 0
      /// How many times it was asked for the rest of what it has to send, and has not answered.
      var lastPingCount = 0
    }

    /// The actions to perform outside the lock.
    struct Effects {
      /// Bytes for connections, with the number of answers to pings in each.
      var sends: [(connection: NATSConnection, bytes: ByteBuffer, pongs: Int)] = []
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
    private var pool: ServerPool
    private var configuration: NATSConfiguration
    private(set) var isReading = true
    private var lines: [Int: Line] = [:]
    private var current: Int?
    private var next: Int?
    /// Whether the present connection is asked for the last that it has to send.
    private var isHandingOver = false
    /// For how many seconds the second connection has been open, or the first one asked for that.
    private var handOverSeconds = 0
    /// The relay's operations that wait while connections change.
    private var deferred: [RelayOperation] = []
    /// Acknowledgments that wait likewise.
    private var deferredAcknowledgments: [String] = []
    private var lastNumber = 0
    /// The number of the last pause: the ends of those before mean nothing.
    private var pauseNumber = 0
    /// How many connections in a row have ended as soon as they were open.
    private var shortCount = 0
    private var isStopped = false
    /// Reasons that have been reported since there was a connection, or the last of them.
    private(set) var reported: Set<String> = []
    /// So many reasons are remembered, and so many characters of each are reported: a server can
    /// give any reason.
    private static let (reasonLimit, lengthLimit) = (64, 512)
    private var effects = Effects()
    private var outputs = OutputBuffers()
    private var random = SystemRandomNumberGenerator()

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
      deferred += operations.filter { !$0.isPost }
    }

    /// A message of a stream has been delivered, or is not wanted.
    mutating func settle(_ subject: String, isTaken: Bool) {
      // Bytes written while the first server sends its rest would reach neither server.
      if !isHandingOver {
        session.settle(subject, isTaken: isTaken)
      } else if isTaken {
        deferredAcknowledgments.append(subject)
      }
    }

    private mutating func performDeferred() {
      let (operations, subjects) = (deferred, deferredAcknowledgments)
      (deferred, deferredAcknowledgments) = ([], [])
      perform(operations)
      for subject in subjects { session.settle(subject, isTaken: true) }
    }

    private var nextIsOpen: Bool { next.flatMap { lines[$0]?.state.isOpen } == true }

    mutating func setReading(_ reads: Bool) -> [NATSConnection] {
      isReading = reads
      return lines.values.filter { !reads || !$0.isHeldBack }.compactMap(\.connection)
    }

    /// - Returns: The connections to write the last bytes to, and those to close at once.
    mutating func stop() -> (last: (NATSConnection, ByteBuffer)?, others: [NATSConnection]) {
      isStopped = true
      for subject in deferredAcknowledgments { session.settle(subject, isTaken: true) }
      session.leave()
      let last = current.flatMap { lines[$0]?.connection }
      let others = next.flatMap { lines[$0]?.connection }
      (lines, current, next) = ([:], nil, nil)
      return (last.map { ($0, session.output) }, [others].compactMap { $0 })
    }

    // MARK: Connecting

    /// Looks for a server, unless there is one.
    mutating func connect() {
      guard !isStopped, current == nil else { return }
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
      // Whatever is not open yet may have authenticated as before.
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
      pool.replaceServers(with: other.servers, &random)
      reconnect()
    }

    private mutating func open(_ address: ServerAddress) -> Int {
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
        if number == current { session.changeReceivers { $0.arrived(isWhole: !frames.isEmpty) } }
        lines[number]?.state = state
        for action in actions { perform(action, on: number) }
        if number == next { hold(byteCount) }
      case .closed(let reason):
        closed(number, reason, byServer: true)
      }
    }

    /// Counts what has arrived by the second connection.
    ///
    /// If it is too much, no more of it is read until the first one has sent its rest. A server
    /// that sends so much before it has confirmed the subscriptions is read at once.
    private mutating func hold(_ byteCount: Int) {
      guard let next, lines[next] != nil else { return }
      lines[next]!.heldBytes += byteCount
      let count = lines[next]!.held.count
      guard count > 0, lines[next]!.heldBytes + count * Self.heldCost > Self.heldLimit else {
        return
      }
      if !isHandingOver { return handOver() }
      lines[next]!.isHeldBack = true
      lines[next]!.connection?.setReading(false)
    }

    /// So many bytes may wait, and so many does each message take in addition to its own.
    private static let (heldLimit, heldCost) = (4 << 20, 128)

    private mutating func perform(_ action: ConnectionState.Action, on number: Int) {
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
      case .sendPong: answerPing(number)
      case .open(let info): opened(number, info)
      case .update(let info): updated(number, info)
      case .confirmed(let mark): confirmed(mark, on: number)
      case .denied(let denial): session.denied(denial)
      case .close(let reason): end(number, reason)
      }
    }

    private mutating func answerPing(_ number: Int) {
      if lines[number]?.connection?.isFull == true {
        return end(number, "The server sends pings and doesn't read the answers.")
      }
      lines[number]?.output.writePong()
      lines[number]?.pongs += 1
    }

    private mutating func introduce(_ number: Int, _ info: ServerInfo) {
      var options = ConnectOptions(name: session.name)
      options.pedantic = configuration.isPedantic
      do throws(AuthenticationError) {
        try options.authenticate(configuration.authentication, nonce: info.nonce)
        lines[number]?.output.writeConnect(json: options.json)
      } catch {
        end(number, error.description)
      }
    }

    private mutating func opened(_ number: Int, _ info: ServerInfo) {
      guard let address = lines[number]?.address else { return }
      if number == current {
        pool.connected(to: address, &random)
        reported = []
        session.connected(info)
      } else {
        handOverSeconds = 0
        session.writeSubscriptions(to: &lines[number]!.output, isNext: true)
        lines[number]!.output.writePing()
        lines[number]!.state.pinged(marking: Self.firstFlag)
      }
    }

    private mutating func updated(_ number: Int, _ info: ServerInfo) {
      if configuration.usesReportedServers, let others = info.others { pool.learn(others) }
      if number == current { session.updated(info) }
    }

    private mutating func confirmed(_ mark: UInt64, on number: Int) {
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
        guard let current, lines[current] != nil else { return }
        lines[current]!.output.writePing()
        lines[current]!.state.pinged(marking: session.outbox.sentMark | Self.lastFlag)
        lines[current]!.lastPingCount += 1
      }
    }

    /// How many seconds the first server has for the rest of what it has to send.
    ///
    /// Before, the second one has as long to confirm the subscriptions as it had to accept the relay.
    private static let handOverLimit = 2

    /// Is added to the mark of a ping that asks a server for the rest of what it has to send.
    private static let lastFlag: UInt64 = 1 << 63
    /// The mark of the ping that asks a second server whether it has the subscriptions.
    private static let firstFlag: UInt64 = 1 << 62

    // MARK: Changing connections

    /// The server of the present connection ends soon: another one is looked for, if there is any.
    private mutating func leaveLameDuck() {
      guard let current, next == nil, lines[current]?.state.info.isLameDuck == true,
        lines[current]?.state.isOpen == true, let other = pool.another(&random)
      else { return }
      next = open(other)
    }

    /// The first connection has sent all that it had.
    private mutating func handOver() {
      guard let new = next, let line = lines[new] else { return }
      if let old = current, let connection = lines.removeValue(forKey: old)?.connection {
        effects.closes.append(connection)
      }
      (current, next, isHandingOver) = (new, nil, false)
      lines[new]?.isHeldBack = false
      line.connection?.setReading(isReading)
      pool.connected(to: line.address, &random)
      session.lost()
      session.connected(line.state.info, isSubscribed: true)
      effects.hasChangedServers = true
      for message in line.held { session.received(message) }
      lines[new]?.held = []
      performDeferred()
    }

    /// The link ends a connection.
    private mutating func end(_ number: Int, _ reason: String?) {
      if let connection = lines[number]?.connection { effects.closes.append(connection) }
      closed(number, reason)
    }

    /// - Parameter byServer: Whether the link has not ended the connection itself.
    private mutating func closed(_ number: Int, _ reason: String?, byServer: Bool = false) {
      guard var line = lines.removeValue(forKey: number) else { return }
      if number == next {
        // The first connection stays, until there is another one or it ends. No other relay has
        // received the messages of a group or a request that arrived by the second.
        (next, isHandingOver) = (nil, false)
        for message in line.held where session.subscriptions[message.sid]?.group != nil {
          session.received(message)
        }
        return performDeferred()
      }
      current = nil
      let wasOpen = session.server != nil
      if wasOpen { shortCount = line.age < Self.shortAge ? shortCount + 1 : 0 }
      if nextIsOpen { return handOver() }
      let sentence =
        line.state.closed(reason)
        ?? (byServer && wasOpen && shortCount > 1
          ? "The server ends each connection at once." : nil)
      let text = sentence.map { "\(line.address): \(Self.cut($0))" } ?? ""
      if reported.count >= Self.reasonLimit { reported = [] }
      if session.server != nil || reported.insert(text).inserted {
        session.disconnected(text, isRepeated: shortCount > 1)
      }
      // A second connection that is not ready takes the place of the first.
      if let next {
        (current, self.next) = (next, nil)
      } else if wasOpen, shortCount > 1 {
        // A server that accepts the relay, and then ends what it sends, would do so again and again.
        pauseNumber += 1
        let pause = min(configuration.longestPause, 50 << min(shortCount, 21))
        effects.wait = (.random(in: pause / 2...pause, using: &random), pauseNumber)
      } else {
        connect()
      }
    }

    private static func cut(_ reason: String) -> String {
      let start = reason.unicodeScalars.prefix(lengthLimit)
      return start.endIndex == reason.endIndex ? reason : String(start) + "…"
    }

    /// A connection lasts so many seconds, unless the server objects to what is sent on it.
    private static let shortAge = 2

    /// One second has passed.
    mutating func tick() {
      var actions: [ConnectionState.Action] = []
      for number in lines.keys.sorted() {
        if lines[number]?.state.isOpen == true { lines[number]?.age += 1 }
        let isRead = isReading && lines[number]?.isHeldBack == false
        lines[number]?.state.tick(isReading: isRead, &actions)
        for action in actions { perform(action, on: number) }
        actions.removeAll(keepingCapacity: true)
      }
      session.tick(isReading: isReading)
      if let next, nextIsOpen, isReading {
        handOverSeconds += 1
        // One of the two sends nothing more, which the pings would take long to notice.
        if handOverSeconds > (isHandingOver ? Self.handOverLimit : configuration.connectTimeout) {
          if isHandingOver { handOver() } else { end(next, nil) }
        }
      }
      // Once in a second: the other server may refuse.
      leaveLameDuck()
    }

    // MARK: Effects

    /// Takes the actions to perform.
    mutating func takeEffects() -> Effects {
      takeOutput(of: lines.keys.filter { $0 != current })
      if let current, let connection = lines[current]?.connection, !isHandingOver,
        session.server != nil
      {
        var goesOn = true
        while goesOn {
          let pings: [UInt64]
          (pings, goesOn) = session.write()
          for mark in pings { lines[current]!.state.pinged(marking: mark) }
          takeOutput(of: [current])
          if session.output.readableBytes == 0 { continue }
          effects.sends.append((connection, session.output, 0))
          session.output = outputs.next(after: session.output)
        }
      } else if let current {
        takeOutput(of: [current])
      }
      swap(&effects.messageCount, &session.messageCount)
      swap(&effects.sentCount, &session.sentCount)
      effects.incidents = session.takeIncidents()
      defer { effects = Effects() }
      return effects
    }

    private mutating func takeOutput(of numbers: [Int]) {
      for number in numbers {
        guard let line = lines[number], line.output.readableBytes > 0 else { continue }
        if let connection = line.connection {
          effects.sends.append((connection, line.output, line.pongs))
        }
        // The bytes belong to the connection now.
        (lines[number]!.output, lines[number]!.pongs) = (ByteBuffer(), 0)
      }
    }
  }

  extension RelayOperation {
    fileprivate var isPost: Bool { if case .posts = self { true } else { false } }
  }
#endif
