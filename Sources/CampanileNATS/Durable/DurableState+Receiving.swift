#if NATS
  import CampanileRelay

  extension DurableState {
    /// An answer of JetStream.
    ///
    /// - Returns: What is wrong, as a sentence, if anything is.
    mutating func answered(_ token: Substring, _ message: ServerMessage) -> String? {
      guard token.dropFirst() == String(generation) else { return nil }
      let status = message.headers.status
      let response = status == nil ? StreamResponse(message.payload) : nil
      // After a restart, JetStream may not be ready, or have no leader. It is asked again, and why it
      // does not answer is reported from the second time on.
      let isNotReady = status == 503 || response?.error?.code == 503
      if phase == .locating, isNotReady, !created.isEmpty {
        (unansweredCount, refusal) = (min(unansweredCount, 1), response?.error)
        return nil
      }
      (isStreamAsked, isStreamUnknown) = (true, false)
      guard let response else {
        unansweredCount = 0
        return report("JetStream doesn't answer for the stream \"\(options.stream)\".")
      }
      switch phase {
      case .creatingStream:
        // 10058: another program has created it meanwhile, and configured it otherwise.
        if let error = response.error, error.err_code != 10_058 { return report(error) }
        streamIsReady()
      case .locating:
        // 10059: there is no such stream, or there is none any more.
        if response.error?.err_code == 10_059, !options.subjects.isEmpty {
          if isStreamReady { awaitDeletion() } else { createStream() }
          return nil
        }
        if let error = response.error { return report(error) }
        if !isStreamReady {
          streamIsReady()
        } else {
          located(response.created ?? "", response.state?.last_seq ?? 0)
        }
      case .creatingConsumer:
        if let error = response.error {
          if !terms.relax(for: error) { return report(error) }
          createConsumer()
          return nil
        }
        terms.consumerIsCreated()
        unansweredCount = 0
        let skips = isNamed && beginsAnew(response)
        pull()
        // Without a connection or a pull, the server has not said so.
        if skips { return reportDeletion() }
        // Its pulls have heartbeats nevertheless.
        if response.paused == true {
          return report(
            "The consumer \"\(consumer)\" is paused, and sends nothing until the pause ends. "
              + "The command \"nats consumer resume\" ends it.")
        }
      default: break
      }
      return nil
    }

    /// Notes how far a consumer with a name is.
    ///
    /// - Returns: Whether it has sent nothing, though it had before, and may pass over messages.
    private mutating func beginsAnew(_ response: StreamResponse) -> Bool {
      guard let delivered = response.delivered else { return false }
      // The time of its creation proves nothing: the answer to the first request after a restart of
      // the server names another time (nats-server 2.9 to 2.15). A consumer of a server that was
      // killed before it had stored how far the consumer was is like a new one, too.
      let hasSentNothing = delivered.consumer_seq == 0 && consumerSequence > 0
      let passesOver = lastHeard.map { delivered.stream_seq > $0 } ?? true
      consumerSequence = delivered.consumer_seq
      // Others of a group have received messages, too.
      lastHeard = !isShared && response.num_ack_pending == 0 ? delivered.stream_seq : nil
      return hasSentNothing && passesOver
    }

    private mutating func report(_ error: StreamResponse.Failure) -> String? {
      unansweredCount = 0
      return report("JetStream refuses the stream \"\(options.stream)\": \(error.text).")
    }

    /// - Returns: The sentence, unless it was the last one too: it is tried again and again.
    private mutating func report(_ sentence: String) -> String? {
      defer { reported = sentence }
      return reported == sentence ? nil : sentence
    }

    private mutating func pull() {
      phase = .pulling
      askForMore()
      if hasChanged && isNamed { begin(.gathering) }
    }

    private mutating func askForMore() {
      // No other receiver of the group can take the messages that this one has in hand.
      let inHand = isShared ? deliveries.open.count : 0
      guard !hasEndedHearing, let pull = pulls.next(inHand: inHand) else { return }
      requests.append(
        StreamRequest(
          "CONSUMER.MSG.NEXT.\(options.stream).\(consumer)", token: "\(pullInbox).\(generation)",
          pull))
    }

    /// Asks for more in place of what has arrived.
    private mutating func goOn() {
      switch phase {
      case .pulling: pull()
      case .gathering where hasGathered: askForMore()
      default: break
      }
    }

    /// The server sends what was asked for, or says that there is nothing.
    private mutating func heardOfPull() {
      pulls.heard()
      guard phase == .pulling else { return }
      isUnanswered = false
      if !reported.isEmpty { reported = "" }
    }

    // MARK: Messages

    /// Handles an arrival for a pull: a message of the stream, or a status of the pull.
    mutating func received(_ message: ServerMessage) -> News {
      // This is checked first, because a stored message may look like a status.
      guard let place = StreamPlace(message.reply) else {
        guard let status = message.headers.status else { return .none }
        return received(status, of: message).map(News.refusal) ?? .none
      }
      switch phase {
      case .pulling: break
      // The pulls of a consumer with a name continue while it is changed. Without subscriptions,
      // their messages are not acknowledged, and are sent again.
      case .gathering, .locating, .creatingConsumer:
        guard isNamed, !patterns.isEmpty else { return .none }
      case .idle, .awaitingDeletion, .creatingStream: return .none
      }
      heardOfPull()
      // The rest of a consumer before this one.
      if !isNamed, place.consumer != consumer { return .none }
      pulls.arrived()
      defer { goOn() }
      let isWanted = patterns.want(message.subject, at: place)
      if isNamed {
        consumerSequence = place.consumerSequence
        lastHeard = lastHeard.map { max($0, place.streamSequence) }
        return deliveries.hear(place, isWanted: isWanted)
      }
      guard place.consumerSequence == lastConsumerSequence + 1 else {
        // Something is missing.
        receiveAnew()
        return .none
      }
      lastConsumerSequence = place.consumerSequence
      if place.streamSequence <= heardThrough { return .none }
      heardThrough = place.streamSequence
      return isWanted ? .new(acknowledgment: nil) : .none
    }

    /// Handles a status of a pull.
    ///
    /// - Returns: Why the server refuses pulls, if it does.
    private mutating func received(_ status: Int, of message: ServerMessage) -> String? {
      switch phase {
      case .pulling:
        guard isNamed || message.subject.hasSuffix(".\(generation)") else { return nil }
      case .gathering, .locating, .creatingConsumer:
        guard isNamed else { return nil }
      default: return nil
      }
      func number(_ field: String) -> UInt64? {
        message.headers.text(of: field).flatMap(UInt64.init)
      }
      switch status {
      case 100:
        heardOfPull()
        if isNamed { return nil }
        // The last message that was sent may be missing.
        if number("Nats-Last-Consumer") ?? 0 > lastConsumerSequence {
          receiveAnew()
          return nil
        }
        // The consumer has also passed over messages without a subscription here.
        heardThrough = max(heardThrough, number("Nats-Last-Stream") ?? 0)
      case 408, 404: endedPull(pending: number("Nats-Pending-Messages"))
      // Said of a pull with a limit of bytes, too.
      case 409 where message.headers.statusText.contains("Batch Completed"):
        endedPull(pending: number("Nats-Pending-Messages") ?? 0)
      case 409 where message.headers.statusText.contains("Exceeds MaxBytes"):
        guard pulls.grow(left: number("Nats-Pending-Bytes") ?? 0) else { fallthrough }
        endedPull(pending: number("Nats-Pending-Messages"))
      default:
        let text = message.headers.statusText
        if phase == .pulling || text.contains(Self.deletion) { return refused(status, text) }
        if pulls.shrink(by: text) { goOn() } else { pulls.forget() }
      }
      return nil
    }

    /// The time of a pull is over, or it has brought what it asked for.
    private mutating func endedPull(pending: UInt64?) {
      heardOfPull()
      pulls.end(pending: pending)
      goOn()
    }

    /// The server does not do what a pull asks for.
    private mutating func refused(_ status: Int, _ text: String) -> String? {
      if pulls.shrink(by: text) {
        pull()
      } else if text.contains(Self.deletion) {
        (isUnanswered, consumerSequence) = (false, 0)
        awaitDeletion()
        return isNamed ? reportDeletion() : nil
      } else if Self.ends.contains(where: text.contains) || status == 503 && !isUnanswered {
        isUnanswered = status == 503
        receiveAnew()
      } else {
        // It might refuse the next pull as well: that waits for a second.
        deleteConsumer()
        pulls.forget()
        begin(.locating)
        silence = patience - 1
        let answer = text.isEmpty ? "\(status)" : "\(status) \(text)"
        return report("JetStream sends nothing of the stream \"\(options.stream)\": \(answer).")
      }
      return nil
    }

    private mutating func reportDeletion() -> String? {
      report(
        "The consumer \"\(consumer)\" has been deleted. What the stream stores until there is a new "
          + "one is not heard.")
    }

    /// How the server says that a consumer, and maybe its stream, is being deleted.
    private static let deletion = "Consumer Deleted"
    /// How the server says that a consumer has to be looked for.
    private static let ends = ["Leadership Change", "Shutdown"]

    /// A message has been delivered to all its observers, or is given back.
    ///
    /// - Returns: Whether to tell the stream. In another stream of the name, another message may have
    ///   its number.
    mutating func finished(_ acknowledgment: String, isTaken: Bool) -> Bool {
      let isOpen = deliveries.finished(acknowledgment, isTaken: isTaken)
      if isShared, phase == .pulling { askForMore() }
      return isOpen
    }

    // MARK: Time

    /// One second has passed.
    ///
    /// - Returns: What is wrong, as a sentence, if anything is.
    @discardableResult
    mutating func tick() -> String? {
      guard isConnected else { return nil }
      silence += 1
      pulls.tick()
      // They were lost while something else was asked for.
      if phase != .pulling, pulls.silence > 2 * Self.shortestPatience { pulls.forget() }
      switch phase {
      case .idle: break
      case .awaitingDeletion:
        if silence > 1 { locate() }
      case .gathering:
        gatheredSeconds += 1
        // A consumer that is there already may be asked for less at first, and then loses the rest.
        let limit = hasGathered ? Self.longestGathering : Self.longestFirstGathering
        if silence > 1 || gatheredSeconds > limit {
          hasGathered = !patterns.isEmpty
          locate()
        }
      case .creatingStream, .locating, .creatingConsumer:
        if silence >= patience {
          isStreamAsked = true
          locate()
          return unanswered()
        }
      // A server with nothing to send says so each five seconds.
      case .pulling:
        if hasChanged {
          locate()
        } else if pulls.silence > 2 * Self.shortestPatience {
          receiveAnew()
        } else if pulls.silence > Self.shortestPatience, pulls.isUsedUp {
          // A pull that has brought exactly the bytes that it asked for ends without a status.
          pulls.end()
          pull()
        }
      }
      return nil
    }

    /// Counts a request without an answer, and returns a sentence from the second one on.
    private mutating func unanswered() -> String? {
      defer { refusal = nil }
      unansweredCount += 1
      isStreamUnknown = false
      if unansweredCount < 2 { return nil }
      if let refusal { return report(refusal) }
      return report("JetStream doesn't answer for the stream \"\(options.stream)\".")
    }
  }
#endif
