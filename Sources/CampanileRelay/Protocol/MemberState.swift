import Campanile

/// The state of a member of a bus, which decides what the member does next.
///
/// It has no thread, lock, socket or clock. Each method takes an event and appends what to do to an
/// array of actions.
///
/// The member keeps two logs: its own messages, and those it has received. When a hub dies, the
/// next one puts the logs of all members together, so that each has what any of them has.
///
/// A message is recognized as known by its number alone. A hub sends the messages of a sender in
/// the order of their numbers. So each number below the highest one is known, or not subscribed.
struct MemberState {
  let id: MemberID
  private let name: String
  private let processID: Int32
  private let buffering: RelayBuffering

  /// The bus and its last generation that this member knows, or 0.
  var busID: UInt64 = 0
  var generation: UInt64 = 0
  /// This member has all that it subscribes to up to here.
  var position = Position.none
  /// It was new here: it lacks nothing that is older.
  var began = Position.none
  /// Every member has what it subscribes to up to here, as the hubs have said.
  var stable = Position.none
  /// The highest position of a message that this member has received or posted.
  var horizon = Position.none
  /// The last generations that this member was part of, oldest first.
  var recoveries: [Recovery] = []
  var stage = Stage.disconnected
  private var silentTicks = 0
  /// Whether the hub is in this process.
  private var isOwnHub = false
  /// After how many silent ticks the member takes over at the earliest, and after how many now.
  private let silenceLimit: Int
  private var patience: Int
  private var calmTicks = 0
  var mustAcknowledge = false
  private(set) var peers: [Peer] = []
  /// Whether members have joined or left since the last report to the relay, one for many of them.
  private var hasNewPeers = false
  /// The member that the hub of `generation` is part of, once the hub has said so.
  private(set) var hub: MemberID?

  /// Whether the connection has ended, and what has arrived on it is still being read.
  ///
  /// Nothing is sent then: what waits is for the next hub.
  var isLeaving = false

  /// The highest number of each sender that was received.
  ///
  /// No number is ever removed. A stopped sender isn't a peer, and may later send a message again
  /// because it does not know its position. The logs may have forgotten the message by then.
  var heard: [MemberID: UInt64] = [:]
  var received: MessageLog
  var outbox: Outbox
  var subscriptions = Patterns()
  private var answers = Patterns()
  /// The messages that the member received as one of a group.
  var shares = Shares()
  /// The requests that have not ended.
  private var requests: Set<UInt64> = []

  enum Stage {
    case disconnected
    /// Has said hello, and waits for `open`.
    case joining
    case open
  }

  /// - Parameters:
  ///   - logLimit: The bytes that the log of own messages and that of others may have each.
  ///   - silenceLimit: The ticks of 100 ms after which the member takes over from a silent hub.
  init(
    id: MemberID, name: String, processID: Int32, buffering: RelayBuffering = .newest(),
    logLimit: Int = 8 << 20, silenceLimit: Int = SilenceLimits().ofHub
  ) {
    self.silenceLimit = silenceLimit
    patience = silenceLimit
    self.id = id
    self.name = name
    self.processID = processID
    self.buffering = buffering
    received = MessageLog(limit: logLimit)
    outbox = Outbox(limit: logLimit)
  }

  var isOpen: Bool { stage == .open }
  /// Whether there is something to wait for, so that time matters.
  var needsTicks: Bool {
    !requests.isEmpty || stage == .joining || stage == .open && outbox.isWaiting
  }

  /// Time begins to matter.
  mutating func beginTicks() { silentTicks = 0 }

  /// Posts a message, and returns its number.
  @discardableResult
  mutating func post(
    subject: String, version: UInt32 = 0, path: [UInt64] = [], payload: [UInt8],
    _ actions: inout [MemberAction]
  ) -> UInt64 {
    let number = outbox.lastNumber + 1
    let message = Message(
      sender: id, number: number, position: .none, subject: subject, version: version, path: path,
      payload: payload)
    outbox.post(message, &actions)
    if isOpen { outbox.send(after: horizon, &actions) }
    return number
  }

  /// Asks for the messages of a pattern.
  ///
  /// - Parameter group: The name of the group that shares the messages, or an empty text.
  mutating func subscribe(
    _ pattern: SubjectPattern, group: String = "", _ actions: inout [MemberAction]
  ) {
    guard subscriptions.add(pattern, group: group), stage != .disconnected else { return }
    actions.append(.send(.subscribe(.init(pattern: pattern.text, group: group))))
  }

  mutating func unsubscribe(
    _ pattern: SubjectPattern, group: String = "", _ actions: inout [MemberAction]
  ) {
    guard subscriptions.remove(pattern.text, group: group), stage != .disconnected else { return }
    actions.append(.send(.unsubscribe(.init(pattern: pattern.text, group: group))))
  }

  /// Takes no more messages of groups; those that it was given are still delivered.
  mutating func leaveGroups(_ actions: inout [MemberAction]) {
    for interest in subscriptions.removeShared() where stage != .disconnected {
      actions.append(.send(.unsubscribe(interest)))
    }
  }

  /// A message that the member received for a group has been delivered, or has no observer here.
  mutating func taken(
    _ group: String, _ key: Message.Key, _ isTaken: Bool, _ actions: inout [MemberAction]
  ) {
    shares.end(group, key, isTaken: isTaken)
    let shared = MemberFrame.Shared(group: group, key: key, isTaken: isTaken)
    if stage != .disconnected { actions.append(.send(.taken(shared))) }
  }

  /// Offers to answer requests for a pattern.
  mutating func answer(_ pattern: SubjectPattern, _ actions: inout [MemberAction]) {
    guard answers.add(pattern), stage != .disconnected else { return }
    actions.append(.send(.answer(pattern.text)))
  }

  mutating func stopAnswering(_ pattern: SubjectPattern, _ actions: inout [MemberAction]) {
    guard answers.remove(pattern.text), stage != .disconnected else { return }
    actions.append(.send(.stopAnswering(pattern.text)))
  }

  /// Sends a request for a subject, after all messages that were posted before it.
  ///
  /// - Parameter correlation: The number that the reply will have, which no other request has.
  mutating func request(
    _ correlation: UInt64, subject: String, version: UInt32 = 0, payload: [UInt8],
    milliseconds: UInt32, _ actions: inout [MemberAction]
  ) {
    requests.insert(correlation)
    let request = Request(
      correlation: correlation, from: id, subject: subject, version: version, payload: payload)
    outbox.sendInOrder(.request(request, deadline: milliseconds))
    if isOpen { outbox.send(after: horizon, &actions) }
  }

  /// Forgets requests and flushes whose ends are no longer awaited.
  ///
  /// Those that have not been sent are not sent.
  mutating func forget(_ tokens: Set<UInt64>) {
    requests.subtract(tokens)
    outbox.forget(tokens)
  }

  /// Replies to a request of a member, after all messages that were posted before.
  ///
  /// Does nothing when closed.
  mutating func reply(
    to member: MemberID, _ correlation: UInt64, _ status: AnswerStatus, payload: [UInt8],
    _ actions: inout [MemberAction]
  ) {
    guard isOpen else { return }
    outbox.sendInOrder(
      .reply(to: member, correlation: correlation, status: status, payload: payload))
    outbox.send(after: horizon, &actions)
  }

  /// Reports `flushed` when all members that are present have what was posted before.
  ///
  /// A token is used once.
  mutating func flush(_ token: UInt64, _ actions: inout [MemberAction]) {
    outbox.flush(token)
    if isOpen { outbox.send(after: horizon, &actions) }
  }

  /// A connection to the hub of a generation has been made.
  ///
  /// A member does not take over from a hub in its own process. That hub is busy, or was stopped
  /// together with the member. The other members see whether it must be replaced.
  mutating func connected(
    generation: UInt64, isOwnHub: Bool = false, _ actions: inout [MemberAction]
  ) {
    require(stage == .disconnected, "A member has one connection at a time.")
    self.generation = generation
    self.isOwnHub = isOwnHub
    hub = nil
    stage = .joining
    silentTicks = 0
    let (subscribed, answered) = (subscriptions.inHello, answers.inHello)
    let hello = MemberFrame.Hello(
      busID: busID, peer: Peer(id: id, name: name, processID: processID), buffering: buffering,
      position: position, recoveries: recoveries, settled: shares.settled, stable: stable,
      subscriptions: Array(subscribed.first), answers: answered.first.map(\.pattern))
    actions.append(.send(.hello(hello)))
    for interest in subscribed.rest { actions.append(.send(.subscribe(interest))) }
    for interest in answered.rest { actions.append(.send(.answer(interest.pattern))) }
  }

  /// The connection is closed.
  ///
  /// Requests that were sent fail.
  mutating func disconnected(_ actions: inout [MemberAction]) {
    guard stage != .disconnected else { return }
    stage = .disconnected
    isLeaving = false
    mustAcknowledge = false
    let waiting = outbox.close()
    for correlation in requests.subtracting(waiting).sorted() {
      actions.append(.replied(correlation: correlation, status: .disconnected, payload: []))
    }
    requests.formIntersection(waiting)
    actions.append(.closed)
  }

  /// A frame of the hub has been read.
  mutating func received(_ frame: HubFrame, _ actions: inout [MemberAction]) {
    guard stage != .disconnected else { return }
    silentTicks = 0
    switch frame {
    case .message(let message):
      tellPeers(&actions)
      receive(message, &actions)
    case .sequenced(let sender, let first, let count, let position):
      sequenced(sender, first, count, position, &actions)
    case .ping(let position, let settled, let stable):
      advance(to: position)
      self.stable = max(self.stable, stable)
      shares.settle(upTo: settled)
      mustAcknowledge = true
    case .shared(let group, let message):
      tellPeers(&actions)
      receive(message, of: group, &actions)
    case .taken(let group, let key, let position): shares.note(group, key, takenAt: position)
    case .unheard(let count): actions.append(.unheard(Int(count)))
    case .dropped(let subject): actions.append(.dropped(number: 0, subject: subject))
    case .lost(let losses): receive(losses, &actions)
    case .welcome(_, let busID): welcome(busID)
    case .collect(let token, let since): collect(token, since, &actions)
    case .open where isLeaving: break
    case .open(let position, let ownNumber, let recovery):
      if recoveries.last?.generation != recovery.generation {
        recoveries = recoveries.suffix(7) + [recovery]
      }
      open(position, ownNumber, &actions)
    case .request(let request):
      tellPeers(&actions)
      actions.append(.requested(request))
    case .reply(let correlation, let status, let payload):
      guard requests.remove(correlation) != nil else { return }
      actions.append(.replied(correlation: correlation, status: status, payload: payload))
    case .peers(let peers, let hub):
      self.peers = peers
      self.hub = hub
      actions.append(.peers(peers, hub: hub))
    case .joined(let peer):
      peers.append(peer)
      hasNewPeers = true
    case .left(let id):
      peers.removeAll { $0.id == id }
      hasNewPeers = true
    case .flushed(let token):
      guard outbox.flushed(token) else { return }
      actions.append(.flushed(token: token))
    }
  }

  /// Reports members that have joined or left to the relay, before it receives a message of one.
  private mutating func tellPeers(_ actions: inout [MemberAction]) {
    if hasNewPeers, let hub { actions.append(.peers(peers, hub: hub)) }
    hasNewPeers = false
  }

  /// All bytes that could be read have been read.
  ///
  /// The member acknowledges once.
  mutating func endRead(_ actions: inout [MemberAction]) {
    silentTicks = 0
    tellPeers(&actions)
    guard mustAcknowledge else { return }
    mustAcknowledge = false
    actions.append(.send(.pong(position)))
  }

  /// A tenth of a second has passed.
  ///
  /// - Parameters:
  ///   - isReading: Whether bytes of the hub would be read. A member that does not read cannot say
  ///     that its hub is silent.
  ///   - hasGoneOn: Whether something has been delivered since the last time. A member that does not
  ///     read because much waits, and gets on with it, does not count as stopped.
  mutating func tick(
    isReading: Bool, hasGoneOn: Bool = false, _ actions: inout [MemberAction]
  ) {
    guard stage != .disconnected else { return }
    if !isReading {
      if hasGoneOn && isOpen { actions.append(.send(.pong(position))) }
      return
    }
    silentTicks += 1
    if isOpen && silentTicks == 1 { noteCalm() }
    if isOpen && silentTicks > 1 { actions.append(.send(.ping)) }
    guard silentTicks == patience, !isOwnHub else { return }
    // On a machine that is too slow for hubs to answer, one takeover must not cause the next.
    patience = min(2 * patience, max(80, silenceLimit))
    calmTicks = 0
    actions.append(.silent(after: generation))
  }

  private mutating func noteCalm() {
    calmTicks += 1
    if calmTicks < 100 { return }
    calmTicks = 0
    patience = max(patience / 2, silenceLimit)
  }
}
