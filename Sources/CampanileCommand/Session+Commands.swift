import Campanile
import CampanileRelay

extension Session {
  // MARK: listen

  /// Writes the received messages, up to `count` of them.
  func listen(
    _ pattern: String, oneOf group: String?, json: Bool, count: Int?
  ) async throws -> Ending {
    let rest = Locked(count ?? .max)
    // Runs in place: while the output is blocked, nothing more is read from the bus.
    let token = relay.raw(pattern, oneOf: group).observe { payload in
      let left = rest.withLock { rest in
        rest -= 1
        return rest
      }
      if left < 0 { return }
      do throws(Ending) {
        try Output.write(json ? payload.jsonLine : payload.line)
        if left == 0 {
          self.letGo()
          self.end(.done)
        }
      } catch {
        rest.withLock { $0 = 0 }
        self.end(error)
      }
    }
    keep(token)
    if rest.withLock({ $0 <= 0 }) { letGo() }
    try await relay.flush()
    Output.note("Listening to \(pattern) on the \(bus.description).")
    return await waitForEnd()
  }

  // MARK: post

  func post(_ json: String, to subject: String) async throws -> Ending {
    let isSent = Locked(true)
    let token = relay.events.observe { event in
      let prevents = [.refused, .denied, .lost].contains(event.kind) && event.subject == subject
      if prevents { isSent.withLock { $0 = false } }
    }
    relay.post(raw: Array(json.utf8), to: subject)
    try await relay.flush()
    // If it is not sent, the reason has been noted.
    return withExtendedLifetime(token) { isSent.withLock { $0 ? .done : Ending(status: 1) } }
  }

  // MARK: request

  func request(_ json: String, of subject: String, within limit: Duration) async throws -> Ending {
    do {
      let answer = try await relay.request(raw: Array(json.utf8), to: subject, within: limit)
      try Output.write(MessageText.readable(answer))
      return .done
    } catch let error as RelayError {
      return .failed(MessageText.printable(error.message))
    }
  }

  // MARK: peers

  func listPeers() async throws -> Ending {
    try await relay.flush()
    if bus.nats != nil { try await waitForAnswers() }
    let peers = relay.peers.value
    for peer in peers {
      try Output.write(
        "\(MessageText.printable(peer.description)) \(peer.number)" + (peer.isHub ? " hub" : ""))
    }
    return peers.isEmpty
      ? .failed("Nobody else is on the \(bus.description).") : .done
  }

  /// Waits until no relay has answered for a second, five seconds at most: a server of NATS does not
  /// know how many there are.
  private func waitForAnswers() async throws {
    var count = -1
    for _ in 1...5 where relay.peers.value.count != count {
      count = relay.peers.value.count
      try await Task.sleep(for: .seconds(1))
    }
  }

  // MARK: hub

  /// Writes which process passes messages on, whenever that changes.
  func stay() async throws -> Ending {
    var last: String?
    for await peers in relay.peers.values(options: .initial) {
      // Without a connection, no process does.
      if relay.state.value != .connected { continue }
      let hub = peers.first { $0.isHub }
      let name = hub.map { MessageText.printable($0.description) } ?? "This process"
      if name == last { continue }
      last = name
      try Output.write("\(name) passes messages on.")
    }
    return await waitForEnd()
  }
}

extension RelayPeer {
  /// The relay's number, as in the names of the bus's files.
  fileprivate var number: String { String(id, radix: 16) }

  fileprivate var json: String {
    "{\"name\":\(MessageText.quoted(name)),\"process\":\(processID),\"id\":\"\(number)\"}"
  }
}

extension RelayedPayload {
  /// The message as one JSON object.
  fileprivate var jsonLine: String {
    let message =
      MessageText.json(bytes) ?? "\"\(MessageText.base64(bytes))\",\"encoding\":\"base64\""
    return "{\"subject\":\(MessageText.quoted(subject)),\"from\":\(sender.json),"
      + "\"version\":\(version),\"message\":\(message)}"
  }

  /// The sender, the subject and the content.
  fileprivate var line: String {
    MessageText.printable("\(sender) \(subject) ") + MessageText.readable(bytes)
  }
}
