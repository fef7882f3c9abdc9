import Campanile
import Dispatch

/// All parts of a relay except the object whose release ends it.
final class RelayCore: RelayReceiver, Sendable {
  let link: any RelayLink
  let state = CurrentValue(RelayState.connecting)
  let peers = CurrentValue<[RelayPeer]>([])
  let events = Broadcaster<RelayEvent>()
  /// Waits for the deliveries of all events.
  ///
  /// No task waits for it, so the call in which the relay was created does not count as waiting.
  private let eventDeliveries = DeliveryTracker(isAwaited: false)
  let unheard = CurrentValue(0)
  let requests = Broadcaster<IncomingRequest>()
  let routes: Routes
  let carried = CarriedTypes()
  let waiting = WaitingCalls()
  private let outbox: PostQueue
  /// Posts that have been taken from `outbox` and not encoded yet; used on the link's queue.
  private let unsent = Locked(PostQueue.Batch())
  let inbox = Inbox()
  /// The queue on which arriving messages are posted.
  let deliveries = DispatchQueue(label: "campanile.relay.deliveries")

  init(_ link: any RelayLink, _ buffering: RelayBuffering) {
    self.link = link
    outbox = PostQueue(buffering)
    routes = Routes()
  }

  // MARK: Sending

  @inline(__always)
  func send(size: Int, _ make: () -> PostQueue.Item) {
    if outbox.append(size: size, make) { scheduleSending() }
  }

  func send(
    raw bytes: [UInt8], to subject: String, version: UInt32, whenQueued: () -> Void = {}
  ) {
    // In the queue, it would take the place of messages that can be carried.
    if let reason = RelayLimits.objection(to: bytes.count, named: subject) {
      return reportRefused(subject, reason)
    }
    SubjectName.check(subject, "Bytes were posted")
    let bytes = PostQueue.Item.fitted(bytes)
    let size = PostQueue.Item.size(of: bytes, to: subject)
    let isFirst = outbox.append(size: size, whenQueued: whenQueued) {
      .bytes(bytes, RelayPosts.Heading(subject: subject, version: version))
    }
    if isFirst { scheduleSending() }
  }

  func send(_ operation: RelayOperation) {
    if outbox.append(operation) { scheduleSending() }
  }

  /// Asks for the messages, or offers to answer the requests, of a pattern that is newly wanted.
  func want(_ wanted: Routes.Wanted) {
    if let reason = RelayLimits.objection(toPattern: wanted.pattern) {
      return report(.denied(subject: wanted.pattern, reason))
    }
    if routes.want(wanted, { outbox.append(wanted.beginning) }) { scheduleSending() }
  }

  /// Takes that back, if the pattern is not wanted any more.
  func unwant(_ wanted: Routes.Wanted) {
    if RelayLimits.objection(toPattern: wanted.pattern) != nil { return }
    if routes.unwant(wanted, { outbox.append(wanted.end) }) { scheduleSending() }
  }

  @inline(never)
  private func scheduleSending() { link.queue.async { self.sendSome() } }

  /// Encodes some of what was posted, and hands it to the link; on the link's queue.
  ///
  /// Then the link reads what has arrived, however much is left to encode, because a link that
  /// sends nothing for half a second counts as stopped.
  private func sendSome() {
    var batch = PostQueue.Batch()
    unsent.withLock { swap(&$0, &batch) }
    if batch.isEmpty {
      for (pattern, count) in outbox.takeAll(in: &batch) {
        report(
          .lost(
            sender: nil, subject: pattern, count: count,
            "More was posted than the relay's buffer holds, faster than it could be encoded."))
      }
    }
    var holds: [HeldDelivery] = []
    var operations = OutgoingOperations()
    let end = DispatchTime.now() + .milliseconds(10)
    var isLate = false
    while !isLate, !operations.isFull, let item = batch.popFirst() {
      switch item {
      case .message(let message):
        encode(message, &operations)
        isLate = DispatchTime.now() >= end
        if let hold = message.hold { holds.append(hold) }
      case .bytes(let bytes, let heading): operations.append(heading, bytes)
      case .operation(let operation): if isWanted(operation) { operations.append(operation) }
      }
    }
    if !batch.isEmpty { scheduleSending() }
    unsent.withLock { swap(&$0, &batch) }
    if !holds.isEmpty, let token = waiting.makeToken(for: holds) {
      operations.append(.flushPosts(token))
    }
    link.perform(operations.takeAll())
  }

  /// Whether an operation is not a request that has been given up.
  private func isWanted(_ operation: RelayOperation) -> Bool {
    guard case .request(let correlation, _, _, _, _) = operation else { return true }
    return waiting.isWaiting(for: correlation)
  }

  private func encode(_ message: OutgoingMessage, _ operations: inout OutgoingOperations) {
    let heading = message.heading
    let reason: String
    do {
      let payload = try message.payload()
      guard let objection = RelayLimits.objection(to: payload.count, named: heading.subject) else {
        return operations.append(heading, payload)
      }
      reason = objection
    } catch {
      reason = "A message could not be encoded: \(error)"
    }
    reportRefused(heading.subject, reason)
  }

  func reportRefused(_ subject: String, _ reason: String) {
    report(.refused(subject: subject, reason))
  }

  /// Reports something on the relay's queue, from any thread.
  ///
  /// At once it has its place among the incidents of the link, so the end of a later flush follows.
  private func report(_ incident: RelayIncident) {
    let (isFirst, pauses) = inbox.append([incident])
    if pauses { link.queue.async { self.setReading() } }
    if isFirst { deliveries.async { self.deliverAll() } }
  }

  // MARK: Receiving

  func receive(_ incidents: consuming [RelayIncident]) {
    let (isFirst, pauses) = inbox.append(consume incidents)
    if pauses { link.setReading(false) }
    if isFirst { deliveries.async { self.deliverAll() } }
  }

  /// Delivers what waits, and lets other blocks of the queue have their turn from time to time.
  private func deliverAll() {
    var count = 0
    var heading: Routes.Heading?
    while count < 1_024 {
      guard var batch = inbox.next() else { return }
      if batch.resumes { link.queue.async { self.setReading() } }
      for index in batch.incidents.indices {
        guard inbox.mayDeliver() else { return }
        // Taken out of the array. A copy would count a reference to each object in the incident.
        var incident = RelayIncident.flushed(0)
        swap(&incident, &batch.incidents[index])
        deliver(consume incident, &heading)
      }
      count += batch.incidents.count
    }
    deliveries.async { self.deliverAll() }
  }

  /// On the link's queue, where reading is also paused, because more may have arrived meanwhile.
  private func setReading() { link.setReading(!inbox.isPaused) }

  func hasGoneOn() -> Bool { inbox.hasGoneOn() }

  /// - Parameter last: The heading of the message before, which this one often has too.
  private func deliver(_ incident: consuming RelayIncident, _ last: inout Routes.Heading?) {
    switch consume incident {
    case .message(let sender, let subject, let version, let path, let payload):
      let heading = routes.find(subject, of: sender, after: last)
      last = heading
      let message = RelayedPayload(
        subject: subject, sender: heading.sender, version: Int(version), bytes: payload,
        path: path.map { PathStep(number: $0) }, tracker: nil)
      for route in heading.routes { route.deliver(message) }
    case .awaited(let group, let sender, let subject, let version, let path, let payload, let done):
      let heading = routes.find(subject, of: sender, in: group)
      let tracker = DeliveryTracker()
      let message = RelayedPayload(
        subject: subject, sender: heading.sender, version: Int(version), bytes: payload,
        path: path.map { PathStep(number: $0) }, tracker: tracker)
      // All of them, and not only the first that takes it.
      let isTaken = heading.routes.count { $0.deliver(message) } > 0
      waiting.deliveries.begin()
      tracker.end { [waiting] in
        done(isTaken)
        waiting.deliveries.end()
      }
    case .unheard(let count): unheard.update { $0 += count }
    case .request(let sender, let correlation, let subject, let version, let payload):
      deliver(
        IncomingRequest(
          from: sender, correlation: correlation, subject: subject, version: Int(version),
          bytes: payload))
    case .reply(let correlation, let status, let payload):
      waiting.answer(correlation, status, payload)
    case .flushed(let token): waiting.end(token, .success([]))
    case .lost(let sender, let subject, let count, let reason):
      // Of a sender that is not on the bus any more, the name is not known.
      tell(
        RelayEvent(
          .lost, subject: subject == "" ? nil : subject,
          sender: sender.flatMap { routes.peer($0) }, count: count, reason))
    case .sentAway(let reason): tell(RelayEvent(.refused, count: 0, reason))
    case .refused(let subject, let reason):
      tell(RelayEvent(.refused, subject: subject, reason))
    case .denied(let subject, let reason):
      tell(RelayEvent(.denied, subject: subject, reason))
    case .connected: state.value = .connected
    case .disconnected(let reason, let isInterruption):
      if !isInterruption, !reason.isEmpty {
        state.value = .unavailable(reason)
      } else if state.value == .connected {
        state.value = .connecting
      }
      if !reason.isEmpty { tell(RelayEvent(.unavailable, count: 0, reason)) }
    case .sender(let peer): routes.remember(peer)
    case .peers(let peers):
      let names = peers.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
      routes.setPeers(names)
      if names != self.peers.value { self.peers.value = names }
    }
  }

  func tell(_ event: RelayEvent) { events.send(event, trackedBy: eventDeliveries) }

  // MARK: Waiting

  /// Waits until what was posted before is taken.
  ///
  /// - Parameter onlyPosts: Whether it waits for posts alone, and not for subscriptions.
  func flush(onlyPosts: Bool = false) async throws {
    let outcome = await wait { send(onlyPosts ? .flushPosts($0) : .flush($0)) }
    try Task.checkCancellation()
    _ = try outcome.get()
  }

  /// Waits until a call of the link ends; if the task is canceled, it is taken back.
  func wait(_ begin: (UInt64) -> Void) async -> WaitingCalls.Outcome {
    await waiting.wait(begin) { [self] in giveUp($0, RelayError(.ended, "Canceled.")) }
  }

  /// Ends a call that waits, and takes it back if it has not been sent.
  func giveUp(_ number: UInt64, _ error: RelayError) {
    if waiting.end(number, .failure(error)) { send(.forget([number])) }
  }

  /// Waits while the relay connects, and then until what was posted before is taken.
  ///
  /// It stops waiting when the relay cannot connect.
  func sendPosts() async {
    let states = state.readOnly
    await withTaskGroup { group in
      group.addTask {
        let first = await states.values(options: .initial).first { $0 != .connecting }
        if first == .connected { try? await self.flush(onlyPosts: true) }
      }
      group.addTask {
        _ = await states.values(options: .initial).first {
          $0 != .connecting && $0 != .connected
        }
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// Takes no more requests, even if the tokens of answers are still kept.
  func stopAnswering() {
    if routes.unwantAnswers({ outbox.append(.stopAnswering($0)) }) { scheduleSending() }
  }

  /// Leaves what is stored for the relay where it is; what has arrived is still posted.
  func endHearing() { send(.endHearing) }

  /// Waits for the answers that are being made, and for the deliveries that the link awaits.
  ///
  /// It does not wait for a call that the task is part of.
  func finishCalls() async {
    if !AnswerCall.isInside { await waiting.answers.wait() }
    if !DeliveryTracker.isInsideCall { await waiting.deliveries.wait() }
  }

  /// Waits until the messages that have arrived are delivered, but not for later ones.
  ///
  /// A task that is canceled waits all the same.
  func finishDeliveries() async {
    _ = await waiting.wait {
      report(.flushed($0))
    } giveUp: { _ in
    }
  }

  // MARK: Ending

  func cancel() {
    carried.end()
    outbox.close()
    inbox.close()
    link.stop()
    waiting.end()
    routes.end()
    requests.finish()
    deliveries.async {
      if self.state.value == .ended { return }
      self.peers.value = []
      self.state.value = .ended
      // Before, this would discard events that wait for an observer's queue.
      self.eventDeliveries.end { [events = self.events] in events.finish() }
    }
  }
}

/// Operations for a link, with encoded posts in a row put together.
private struct OutgoingOperations {
  private var operations: [RelayOperation] = []
  private var encoded = RelayPosts()
  /// Requests to forget, all at once: a link looks through what waits for them.
  private var forgotten: Set<UInt64> = []
  /// How many posts, and how many bytes of them, there are.
  private var (count, byteCount) = (0, 0)

  /// Whether it is time to hand them to the link.
  var isFull: Bool { count >= 1_024 || byteCount >= 256 << 10 }

  mutating func append(_ operation: RelayOperation) {
    count += 1
    if case .forget(let requests) = operation { return forgotten.formUnion(requests) }
    endPosts()
    operations.append(operation)
  }

  mutating func append(_ heading: RelayPosts.Heading, _ payload: [UInt8]) {
    encoded.append(heading, payload)
    count += 1
    byteCount += payload.count
  }

  private mutating func endPosts() {
    if encoded.isEmpty { return }
    operations.append(.posts(encoded))
    encoded = RelayPosts()
  }

  mutating func takeAll() -> [RelayOperation] {
    endPosts()
    if !forgotten.isEmpty { operations.append(.forget(forgotten)) }
    defer { self = Self() }
    return operations
  }
}

/// The largest messages and names that a relay carries.
package enum RelayLimits {
  /// The bytes of one message.
  static var payload: Int { 1 << 20 }
  /// The bytes of the name of one message.
  private static var name: Int { 1 << 16 }
  /// The bytes of the name of a relay.
  package static var relayName: Int { Peer.nameLimit }
  /// The losses of one event that are counted: with more, the count is `nil`, so that a sum of
  /// counts does not overflow.
  package static var countedLosses: UInt64 { 1 << 32 }

  /// Why a message, a request or an answer cannot be carried, as a sentence; `nil` if it can.
  package static func objection(
    _ what: String = "A message", to byteCount: Int, named subject: String = ""
  ) -> String? {
    if byteCount > payload {
      return "\(what) has \(byteCount) bytes; a relay carries \(payload) at the most."
    }
    if subject.utf8.count > name {
      return
        "\(what) has a name of \(subject.utf8.count) bytes; a relay carries \(name) at the most."
    }
    return nil
  }

  /// The reason why a pattern can match no messages, as a sentence; `nil` if it can.
  static func objection(toPattern pattern: String) -> String? {
    let count = pattern.utf8.count
    return count > name
      ? "The pattern has \(count) bytes; a relay carries names of \(name) at the most." : nil
  }
}
