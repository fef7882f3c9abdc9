import Campanile
import Dispatch

/// What a relay consists of, apart from the object whose release ends it.
final class RelayCore: RelayReceiver, Sendable {
  let link: any RelayLink
  let state = CurrentValue(RelayState.connecting)
  let peers = CurrentValue<[RelayPeer]>([])
  let events = Broadcaster<RelayEvent>()
  /// What comes, for those who listen by name.
  let payloads = Broadcaster<RelayedPayload>()
  let requests = Broadcaster<IncomingRequest>()
  let routes: Routes
  let carried = CarriedTypes()
  let waiting = WaitingCalls()
  private let outbox: PostQueue
  private let inbox = Inbox()
  /// Where what comes is posted.
  let deliveries = DispatchQueue(label: "campanile.relay.deliveries")

  init(_ link: any RelayLink, _ buffering: RelayBuffering) {
    self.link = link
    outbox = PostQueue(buffering)
    routes = Routes()
  }

  // MARK: Sending

  func send(_ message: consuming OutgoingMessage) {
    if outbox.append(message) { scheduleSending() }
  }

  func send(_ operation: RelayOperation) {
    if outbox.append(operation) { scheduleSending() }
  }

  @inline(never)
  private func scheduleSending() { link.queue.async { self.sendAll() } }

  /// Encodes what was posted, and hands it to the link; on the link's queue.
  private func sendAll() {
    var holds: [HeldDelivery] = []
    var operations: [RelayOperation] = []
    let (items, lost) = outbox.takeAll()
    for (pattern, count) in lost { reportLost(pattern, count) }
    for item in items {
      switch item {
      case .operation(let operation): operations.append(operation)
      case .message(let message):
        if let operation = encode(message) { operations.append(operation) }
        if let hold = message.hold { holds.append(hold) }
      case nil: break
      }
    }
    outbox.recycle(items)
    if !holds.isEmpty, let token = waiting.makeToken(for: holds) {
      operations.append(.flush(token))
    }
    link.perform(operations)
  }

  private func encode(_ message: OutgoingMessage) -> RelayOperation? {
    let subject = message.subject
    do {
      let payload = try message.payload()
      if payload.count <= RelayLimits.payload {
        return .post(
          subject: subject, version: message.version, path: message.path, payload: payload)
      }
      reportRefused(
        subject,
        "A message has \(payload.count) bytes; a relay carries \(RelayLimits.payload) at the most.")
    } catch {
      reportRefused(subject, "A message could not be encoded: \(error)")
    }
    return nil
  }

  func reportRefused(_ subject: String, _ reason: String) {
    report(RelayEvent(.refused, subject: subject, reason))
  }

  private func reportLost(_ pattern: String, _ count: Int) {
    report(
      RelayEvent(
        .lost, subject: pattern, count: count,
        "More was posted than the relay's buffer holds, faster than it could be encoded."))
  }

  /// Reports something on the relay's queue.
  func report(_ event: RelayEvent) { deliveries.async { self.events.send(event) } }

  // MARK: Receiving

  func receive(_ incident: RelayIncident) {
    let (isFirst, pauses) = inbox.append(incident)
    if pauses { link.setReading(false) }
    if isFirst { deliveries.async { self.deliverAll() } }
  }

  private func deliverAll() {
    while true {
      let (incidents, resumes) = inbox.takeAll()
      if incidents.isEmpty { return }
      for incident in incidents {
        if inbox.isClosed { return }
        deliver(incident)
      }
      if resumes { link.queue.async { self.link.setReading(true) } }
    }
  }

  private func deliver(_ incident: RelayIncident) {
    switch incident {
    case .message(let sender, let subject, let version, let path, let payload):
      let peer = peer(sender)
      let message = RelayedPayload(
        subject: subject, sender: peer, version: Int(version), bytes: payload,
        path: path.map { PathStep(number: $0) })
      for route in routes.find(subject) { route.deliver(message) }
      payloads.send(message)
    case .request(let sender, let correlation, let subject, let version, let payload):
      requests.send(
        IncomingRequest(
          from: sender, correlation: correlation, subject: subject, version: Int(version),
          bytes: payload))
    case .reply(let correlation, let status, let payload):
      waiting.answer(correlation, status, payload)
    case .flushed(let token): waiting.flushed(token)
    case .lost(let sender, let subject, let count, let reason):
      events.send(
        RelayEvent(
          .lost, subject: subject, sender: sender.flatMap { peer($0) }, count: count, reason))
    case .sentAway(let reason): events.send(RelayEvent(.refused, reason))
    case .delivered(let body): body()
    case .refused(let subject, let reason): reportRefused(subject, reason)
    case .denied(let subject, let reason):
      events.send(RelayEvent(.denied, subject: subject, reason))
    case .connected: state.value = .connected
    case .disconnected(let reason):
      if !reason.isEmpty {
        state.value = .unavailable(reason)
        events.send(RelayEvent(.unavailable, count: 0, reason))
      } else if state.value == .connected {
        state.value = .connecting
      }
    case .peers(let peers):
      let names = peers.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
      routes.setPeers(names)
      if names != self.peers.value { self.peers.value = names }
    }
  }

  private func peer(_ id: UInt64) -> RelayPeer {
    routes.peer(id) ?? RelayPeer(id: id, name: "", processID: 0, isHub: false)
  }

  // MARK: Waiting

  func flush() async throws {
    let token = try waiting.makeToken()
    send(.flush(token))
    try await waiting.wait(for: token)
  }

  /// Waits until what has come is delivered.
  func finishDeliveries() async {
    await withCheckedContinuation { continuation in
      deliveries.async { continuation.resume() }
    }
  }

  // MARK: Ending

  func cancel() {
    carried.end()
    outbox.close()
    inbox.close()
    link.stop()
    waiting.end()
    payloads.finish()
    requests.finish()
    deliveries.async {
      if self.state.value == .ended { return }
      self.peers.value = []
      self.state.value = .ended
    }
  }
}

/// What a relay carries at the most.
package enum RelayLimits {
  /// The bytes of one message.
  package static var payload: Int { 1 << 20 }
}
