#if NATS
  import CampanileRelay
  import NIOCore

  extension LinkState {
    // MARK: Changing connections

    /// The server of the present connection ends soon: another one is looked for, if there is any.
    mutating func leaveLameDuck() {
      guard let current, next == nil, lines[current]?.state.info.isLameDuck == true,
        lines[current]?.state.isOpen == true
      else { return }
      while next == nil, case .connect(let other) = pool.next(&random) {
        // Not one that has left the cluster.
        if other != lines[current]?.address, pool.all.contains(other) { next = open(other) }
      }
    }

    /// The first connection has sent all that it had.
    mutating func handOver() {
      guard let new = next, let line = lines[new] else { return }
      if let old = current, let connection = lines.removeValue(forKey: old)?.connection {
        effects.closes.append(connection)
      }
      (current, next, isHandingOver) = (new, nil, false)
      line.connection?.setReading(isReading)
      session.lost()
      session.connected(line.state.info, isSubscribed: true)
      effects.hasChangedServers = true
      for message in line.held { session.received(message) }
      lines[new]?.held = []
      performDeferred()
    }

    /// The link ends a connection.
    mutating func end(_ number: Int, _ reason: String?) {
      if let connection = lines[number]?.connection { effects.closes.append(connection) }
      closed(number, reason)
    }

    /// - Parameter byServer: Whether the link has not ended the connection itself.
    mutating func closed(_ number: Int, _ reason: String?, byServer: Bool = false) {
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
      if wasOpen {
        shortCount = line.age < Self.shortAge ? shortCount + 1 : 0
        pool.lost(line.address, &random)
      }
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
        effects.wait = (pool.pause(after: shortCount, &random), pauseNumber)
      } else {
        connect()
      }
    }

    private static func cut(_ reason: String) -> String {
      let start = reason.unicodeScalars.prefix(lengthLimit)
      return start.endIndex == reason.endIndex ? reason : String(start) + "…"
    }

    /// A connection lasts so many seconds, unless the server objects to what is sent on it.
    static let shortAge = 2

    /// One second has passed.
    mutating func tick() {
      var actions: [ConnectionState.Action] = []
      for number in lines.keys.sorted() {
        if lines[number]?.state.isOpen == true { lines[number]?.age += 1 }
        let isRead = isReading && !isHeldBack(number)
        lines[number]?.state.tick(isReading: isRead, &actions)
        for action in actions { perform(action, on: number) }
        actions.removeAll(keepingCapacity: true)
      }
      // Until the rest of a long frame has arrived nothing else can, so silence means nothing.
      let isAmidFrame = current.flatMap { lines[$0]?.state.isAmidFrame } == true
      session.tick(isReading: isReading && !isAmidFrame)
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

    private static let largestOutput = 512 << 10

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
          effects.sends.append((connection, session.output))
          // With the size of this one, which a few bytes do not keep: what is sent next often has as
          // many.
          let capacity = session.output.capacity
          let isUsual = capacity <= min(Self.largestOutput, 4 * session.output.readableBytes)
          if isUsual { session.output.clear() } else { session.output = ByteBuffer() }
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

    mutating func takeOutput(of numbers: [Int]) {
      for number in numbers {
        guard let line = lines[number], line.output.readableBytes > 0 else { continue }
        if let connection = line.connection { effects.sends.append((connection, line.output)) }
        // The bytes belong to the connection now.
        lines[number]!.output = ByteBuffer()
      }
    }
  }
#endif
