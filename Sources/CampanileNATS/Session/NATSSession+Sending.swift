#if NATS
  import CampanileRelay
  import NIOCore

  extension NATSSession {
    // MARK: Connections

    /// All subscriptions, for a new connection.
    ///
    /// - Parameter isNext: Whether it is to take the place of the present one. It does not receive
    ///   the pulls of the present one, which end with that.
    func writeSubscriptions(to output: inout ByteBuffer, isNext: Bool = false) {
      output.writeSubscribe(inbox + "*", sid: Self.inboxSid)
      output.writeSubscribe(NATSSubject.presence, sid: Self.presenceSid)
      if let durable { writePullInbox(of: durable, Self.streamSid, isNext: isNext, to: &output) }
      for subscription in subscriptions.values.sorted(by: { $0.sid < $1.sid })
      where !isStored(subscription) {
        write(subscription, isNext: isNext, to: &output)
      }
    }

    func write(
      _ subscription: Subscription, isNext: Bool = false, to output: inout ByteBuffer
    ) {
      if hasEndedHearing, subscription.group != nil, !subscription.answers { return }
      if let receiver = shared[subscription.sid] {
        writePullInbox(of: receiver, subscription.sid, isNext: isNext, to: &output)
      } else {
        output.writeSubscribe(
          subscription.pattern.text, group: subscription.group, sid: subscription.sid)
      }
    }

    func writePullInbox(
      of receiver: DurableState, _ sid: UInt64, isNext: Bool, to output: inout ByteBuffer
    ) {
      let pullInbox = isNext ? receiver.nextPullInbox : receiver.pullInbox
      output.writeSubscribe(inbox + seal.sealed(pullInbox) + ".*", sid: sid)
    }

    /// A connection is there.
    ///
    /// - Parameter isSubscribed: Whether it takes the place of one that was there until now.
    mutating func connected(_ info: ServerInfo, isSubscribed: Bool = false) {
      server = info
      output.clear()
      (pingNumber, answeredPings) = (0, 0)
      // Nothing else may be sent whose confirmation ends them.
      wantsPing = !heldFlushes.isEmpty
      changeReceivers { $0.connected(info) }
      if isSubscribed { return announce(asking: Self.numbersToken) }
      if asksForDenied {
        subscriptions.merge(denied) { $1 }
        (denied, asksForDenied) = ([:], false)
      }
      writeSubscriptions(to: &output)
      announce(asking: hasConnected ? Self.numbersToken : Self.presenceToken)
      hasConnected = true
      incidents.append(.connected)
    }

    /// The server has changed what it takes.
    mutating func updated(_ info: ServerInfo) { if server != nil { server = info } }

    /// - Parameter isRepeated: Whether connections have ended as soon as they were open, one after
    ///   another.
    mutating func disconnected(_ reason: String, isRepeated: Bool = false) {
      guard server != nil else { return incidents.append(.disconnected(reason)) }
      server = nil
      _ = endConnection()
      // Also those that the server had taken, which it may not have sent to a relay.
      endRequests(requests.sent)
      (hasNewPeers, namedSender) = (false, nil)
      presence.disconnect()
      incidents += [.peers([]), .disconnected(reason, isInterruption: !isRepeated)]
    }

    /// Handles the end of a connection that another one takes the place of: what was sent on it is sent
    /// again, or has failed.
    mutating func lost() { endRequests(endConnection()) }

    /// - Returns: The requests that were sent, and that the server may not have.
    mutating func endConnection() -> [UInt64] {
      output.clear()
      changeReceivers { $0.disconnected() }
      (pingNumber, answeredPings, ending) = (0, 0, [:])
      (wantsPing, storing, vain, readMark) = (false, nil, nil, 0)
      return outbox.disconnect()
    }

    mutating func endRequests(_ correlations: [UInt64]) {
      for correlation in correlations.sorted() where requests.ended(correlation) {
        incidents.append(.reply(correlation: correlation, .disconnected, payload: []))
      }
    }

    // MARK: Sending

    /// Writes what waits, as far as the window allows, and pings.
    ///
    /// - Returns: The mark up to which each ping confirms, and whether there is more to write.
    mutating func write() -> (pings: [UInt64], goesOn: Bool) {
      guard let server else { return ([], false) }
      var (pings, written): ([UInt64], Int) = ([], 0)
      while let item = nextItem() {
        written += item.length
        if item.size > server.maxPayload {
          refuseLast(item, server)
        } else if item.kind != .flush {
          outbox.write(item, to: &output)
          bytesSincePing += Int(item.size)
          if item.kind == .post {
            sentCount += 1
            if durable != nil, storing == nil { storing = 0 }
          }
        }
        // Stored posts are confirmed one by one.
        switch item.kind {
        case .post: break
        case .flush: wantsPing = true
        case .request, .reply:
          requests.wasSent(item.token)
          if durable != nil { wantsPing = true }
        }
        if durable == nil, bytesSincePing > Self.pingInterval { pings.append(writePing()) }
        if written >= Self.outputSize { break }
      }
      outbox.endRun(to: &output)
      // Posts before a flush may have been dropped.
      report(flushed: outbox.popConfirmed())
      writeStreamRequests()
      if wantsPing || durable == nil && outbox.isAwaiting && pingCount == 0 {
        pings.append(writePing())
      }
      return (pings, written >= Self.outputSize)
    }

    /// The next item to write: of posts that no stream takes, only the oldest, from time to time.
    mutating func nextItem() -> Outbox.Item? {
      if durable?.isStreamUnknown == true { return nil }
      if vain?.mayTry == false { return nil }
      let item = outbox.next()
      if item?.kind == .post { vain?.mayTry = false }
      return item
    }

    /// - Returns: The mark up to which the answer confirms.
    mutating func writePing() -> UInt64 {
      outbox.endRun(to: &output)
      output.writePing()
      pingNumber += 1
      (wantsPing, bytesSincePing) = (false, 0)
      return outbox.sentMark
    }

    /// The server doesn't take as much as the item that was sent last has.
    mutating func refuseLast(_ item: Outbox.Item, _ server: ServerInfo) {
      guard let subject = outbox.dropLast() else { return }
      let reason =
        "A \(item.kind == .request ? "request" : "message") has \(item.size) bytes with its headers; "
        + "the server takes \(server.maxPayload) at the most."
      // The sender of a request learns of it.
      if item.kind != .request { incidents.append(.refused(subject: subject, reason)) }
      switch item.kind {
      // The attempt is over, and the next post is the oldest.
      case .post where vain != nil: attemptIsOver()
      case .request where requests.ended(item.token):
        incidents.append(
          .reply(correlation: item.token, .refused, payload: Array(reason.utf8)))
      case .reply:
        // The asking client must learn of it.
        let text = Array("The answer is longer than the server takes.".utf8)
        outbox.endRun(to: &output)
        output.writePublish(subject, headers: Self.answerHeaders(failure: text), payload: text)
      default: break
      }
    }

    /// The server has taken all up to a mark.
    ///
    /// - Parameter isOwnPing: Whether it has answered a ping that the session wrote.
    mutating func confirmed(_ mark: UInt64, isOwnPing: Bool = true) {
      if isOwnPing { answeredPings = min(answeredPings + 1, pingNumber) }
      if !ending.isEmpty { ending = ending.filter { $0.value.lastPing ?? 0 > answeredPings } }
      readMark = max(readMark, mark)
      report(flushed: outbox.confirm(through: mark))
      // The server has been asked once more since the requested subscriptions are in force.
      if isReady {
        report(flushed: heldFlushes)
        heldFlushes = []
      }
    }

    /// Whether the requested subscriptions are in force.
    var isReady: Bool {
      (durable?.isReady ?? true) && shared.values.allSatisfy(\.isReady)
    }

    mutating func report(flushed tokens: [UInt64]) {
      let isReady = self.isReady
      for token in tokens {
        if !isReady, flushesOfPatterns.contains(token) {
          heldFlushes.append(token)
        } else {
          flushesOfPatterns.remove(token)
          incidents.append(.flushed(token))
        }
      }
    }
  }

  extension [RelayIncident] {
    /// Adds a loss; several of one kind in a row are one.
    mutating func addLoss(
      sender: UInt64, _ subject: String, _ count: Int, _ reason: String
    ) {
      guard case .lost(sender, subject, .some(let before), reason)? = last else {
        return append(.lost(sender: sender, subject: subject, count: count, reason))
      }
      self[self.count - 1] = .lost(
        sender: sender, subject: subject, count: before + count, reason)
    }
  }
#endif
