import Campanile

/// The state of a hub, which decides what the hub does next.
///
/// It has no thread, lock, socket or clock. Each method takes an event and appends what to do to an
/// array of actions.
///
/// A hub begins by gathering: it waits for the members of the previous generation. Then it asks for
/// their logs, and sends each member what it lacks. Then it is open, and assigns a position to each
/// message.
struct HubState {
  let generation: UInt64
  let busID: UInt64
  /// The member in the hub's own process.
  let own: MemberID

  var phase: Phase
  /// The connections, in the order in which they were made.
  var members: [HubMember] = []
  var places: [ConnectionID: Int] = [:]
  /// The place that was looked for last, which the next one often is, too.
  private var latestPlace = 0
  /// The receivers by subject; emptied when members or subscriptions change.
  var routes: [String: HubMember.Receivers] = [:]

  /// The last position that was assigned.
  var last: Position
  /// The highest number of each sender that has a position, whether or not it is still a member.
  var known: [MemberID: UInt64] = [:]
  /// The messages that were recovered when the hub opened, and the sequenced messages.
  var log: MessageLog
  /// The members of earlier generations that live, and did not come or send their logs in time.
  var missing: Set<MemberID>
  /// The members that took part in the recovery had everything up to here.
  var since = Position.none
  /// Of what was posted up to here, the log may lack what those members knew.
  var gap = Position.none
  /// What was stable when the hub was chosen, as the members that have come said.
  var stableBefore = Position.none
  /// The recoveries of this hub and earlier ones, as far as the members know them.
  var recoveries: [UInt64: Recovery] = [:]

  /// The groups by name, each with the messages that wait for it.
  var groups: [String: Group] = [:]
  /// The messages that groups have taken after ``settled``, in the order in which they took them.
  var taken: [TakenMessage] = []

  /// For how many more ticks it asks its members whether they are there.
  private var activeTicks = 0
  private static let longestActivity = 10

  var lastToken: UInt64 = 0
  var flushes: [Flush] = []

  enum Phase {
    /// Members of the generation before have not joined.
    case gathering(expected: Set<MemberID>, ticks: Int)
    /// Members have not sent their logs.
    case recovering(ticks: Int)
    case open
  }

  /// The bytes that a hub's log may have, whatever its process keeps for itself.
  static let standardLogLimit = 8 << 20

  /// How many ticks of 100 ms a hub waits for a silent member.
  let silenceLimit: Int
  /// How many it waits for members, and then for their logs, before it opens.
  let patience: Int
  /// After how many ticks without a hello a connection is closed.
  private static let longestGreeting = 50

  /// - Parameters:
  ///   - generation: A number that no hub of this bus has had.
  ///   - own: The member in the hub's process. The transport connects it as any other.
  ///   - expected: The members that are alive. The hub waits for them before it opens.
  ///   - silent: Another one that is alive, and silent.
  ///   - logLimit: The bytes that the hub's log may have.
  ///   - silenceLimit: The ticks of 100 ms after which a silent member counts as stopped.
  ///   - patience: The ticks that the hub waits for members, and then for their logs, if it is to
  ///     wait longer than that.
  init(
    generation: UInt64, busID: UInt64, own: MemberID, expected: some Sequence<MemberID>,
    silent: MemberID? = nil, logLimit: Int = standardLogLimit,
    silenceLimit: Int = SilenceLimits().ofMembers, patience: Int? = nil
  ) {
    missing = silent.map { [$0] } ?? []
    self.silenceLimit = silenceLimit
    self.patience = patience ?? silenceLimit
    self.generation = generation
    self.busID = busID
    self.own = own
    phase = .gathering(expected: Set(expected).union([own]), ticks: 0)
    last = Position(generation: generation, sequence: 0)
    log = MessageLog(limit: logLimit)
  }

  var isOpen: Bool {
    if case .open = phase { true } else { false }
  }

  var isGathering: Bool {
    if case .gathering = phase { true } else { false }
  }

  /// The members whose deaths matter, until it has gathered the others.
  var awaited: Set<MemberID> {
    guard case .gathering(let expected, _) = phase else { return [] }
    return expected.union(missing).subtracting([own])
  }

  private mutating func place(of connection: ConnectionID) -> Int? {
    if latestPlace < members.count, members[latestPlace].connection == connection {
      return latestPlace
    }
    guard let place = places[connection] else { return nil }
    latestPlace = place
    return place
  }

  /// The member at the other end of a connection, if it has said hello.
  func member(of connection: ConnectionID) -> MemberID? {
    guard let place = places[connection], members[place].stage != .greeting else { return nil }
    return members[place].peer.id
  }

  /// A connection has been accepted.
  mutating func connected(_ connection: ConnectionID) {
    require(places[connection] == nil, "A connection is new when it is connected.")
    places[connection] = members.count
    members.append(HubMember(connection, silenceLimit: silenceLimit))
  }

  /// The other end has closed a connection, or is dead.
  mutating func disconnected(_ connection: ConnectionID, _ actions: inout [HubAction]) {
    guard let place = places[connection] else { return }
    remove(place, &actions)
  }

  mutating func close(_ place: Int, reason: String?, _ actions: inout [HubAction]) {
    actions.append(.close(members[place].connection, reason: reason))
    remove(place, &actions)
  }

  private mutating func remove(_ place: Int, _ actions: inout [HubAction]) {
    let member = members.remove(at: place)
    takeBack(from: member)
    places = [:]
    for (place, member) in members.enumerated() { places[member.connection] = place }
    forgetRoutes()
    failRequests(askedOf: member, &actions)
    forgetRequests(of: member)
    if member.stage == .open { sendChange(.left(member.peer.id), except: nil, &actions) }
    for index in flushes.indices {
      flushes[index].awaited[member.connection] = nil
      flushes[index].replies.remove(member.connection)
    }
    flushes.removeAll { $0.connection == member.connection }
    handOutAll(&actions)
    endFlushes(&actions)
    endRecovery(&actions)
  }

  /// A member that is expected or silent is dead.
  mutating func died(_ member: MemberID, _ actions: inout [HubAction]) {
    guard case .gathering(var expected, let ticks) = phase else { return }
    expected.remove(member)
    missing.remove(member)
    phase = .gathering(expected: expected, ticks: ticks)
    endGathering(&actions)
  }

  /// A frame has been read.
  mutating func received(
    _ frame: MemberFrame, from connection: ConnectionID, _ actions: inout [HubAction]
  ) {
    guard let place = place(of: connection) else { return }
    if members[place].stage != .greeting { members[place].silentTicks = 0 }
    // Only an answer does not make it ask again.
    if case .pong = frame {} else { activeTicks = Self.longestActivity }
    switch frame {
    case .ping:
      let position = members[place].stage == .open ? last : .none
      send(.ping(position, settled: settled, stable: stable), to: place, &actions)
    case .message(let message): post(message, from: place, &actions)
    case .pong(let position): acknowledged(position, by: place, &actions)
    case .hello(let hello):
      members[place].silentTicks = 0
      join(hello, place, &actions)
    case .subscribe(let interest), .unsubscribe(let interest):
      setPattern(interest.pattern, frame, place, &actions)
    case .answer(let text), .stopAnswering(let text): setPattern(text, frame, place, &actions)
    case .request(let request, let deadline): ask(request, deadline, from: place, &actions)
    case .reply(let member, let correlation, let status, let payload):
      reply(to: member, correlation, status, payload, from: place, &actions)
    case .collected(let entry):
      // Not if the question has been given up.
      if members[place].collectToken == nil { break }
      members[place].collected.append(entry)
    case .given(let shared):
      if members[place].collectToken != nil { members[place].given.append(shared) }
    case .taken(let shared): taken(shared, by: place, &actions)
    case .collectedAll(let token, let floor): collectedAll(token, floor, place, &actions)
    case .flush(let token): flush(token, from: place, &actions)
    }
  }

  private mutating func setPattern(
    _ text: String, _ frame: MemberFrame, _ place: Int, _ actions: inout [HubAction]
  ) {
    do throws(FrameError) {
      let pattern = try SubjectPattern(validating: text)
      switch frame {
      case .subscribe(let interest): add(pattern, interest.group, to: place)
      case .unsubscribe(let interest) where interest.group.isEmpty:
        members[place].subscriptions.removeAll { $0 == pattern }
      case .unsubscribe(let interest):
        members[place].shares.removeAll { $0 == .init(group: interest.group, pattern: pattern) }
      case .answer: members[place].answers.append(pattern)
      default: members[place].answers.removeAll { $0 == pattern }
      }
      forgetRoutes()
      // There may now be a member that takes the waiting messages, or none any more.
      handOutAll(&actions)
    } catch {
      close(place, reason: error.message, &actions)
    }
  }

  mutating func add(_ pattern: SubjectPattern, _ group: String, to place: Int) {
    if group.isEmpty {
      members[place].subscriptions.append(pattern)
    } else {
      members[place].shares.append(.init(group: group, pattern: pattern))
      groups[group, default: Group()].remember(pattern)
    }
  }

  /// All bytes of a connection that could be read have been read.
  mutating func endRead(of connection: ConnectionID, _ actions: inout [HubAction]) {
    guard let place = place(of: connection) else { return }
    endRun(of: place, &actions)
    if members[place].unheard == 0 { return }
    send(.unheard(members[place].unheard), to: place, &actions)
    members[place].unheard = 0
  }

  /// Whether there is something to wait for, so that time matters.
  var needsTicks: Bool {
    activeTicks > 0 || !isOpen || !flushes.isEmpty
      || groups.values.contains { $0.count > 0 }
      || members.contains { !$0.asked.isEmpty || !$0.inHand.isEmpty || $0.stage == .greeting }
  }

  /// A tenth of a second has passed.
  mutating func tick(_ actions: inout [HubAction]) {
    activeTicks = max(0, activeTicks - 1)
    let (settled, stable) = (settled, stable)
    for place in members.indices {
      members[place].silentTicks += 1
      guard members[place].stage != .greeting, members[place].outgoing.isEmpty else { continue }
      let position = members[place].stage == .open ? last : .none
      send(.ping(position, settled: settled, stable: stable), to: place, &actions)
    }
    closeGreeting(&actions)
    tickJoining(&actions)
    tickRequests(&actions)
    tickFlushes(&actions)
    taken.removeAll { $0.position <= settled }
    tickGroups(&actions)
  }

  /// Closes the connections on which no hello has arrived for too long.
  ///
  /// A member that was stopped meanwhile connects again.
  private mutating func closeGreeting(_ actions: inout [HubAction]) {
    for place in members.indices.reversed()
    where members[place].stage == .greeting && members[place].silentTicks >= Self.longestGreeting {
      close(place, reason: "It has not said hello for five seconds.", &actions)
    }
  }

  /// The transport has some bytes of a connection that it could not write yet.
  mutating func waiting(
    _ bytes: Int, on connection: ConnectionID, _ actions: inout [HubAction]
  ) {
    guard let place = place(of: connection) else { return }
    let frames = members[place].outgoing.waiting(bytes)
    for frame in frames { actions.append(.send([connection], frame)) }
    if bytes == 0 && frames.isEmpty { noteWritten(place, &actions) }
  }

  /// Sends a frame that is never dropped, behind all that waits.
  mutating func send(_ frame: HubFrame, to place: Int, _ actions: inout [HubAction]) {
    if members[place].outgoing.hand(frame.estimatedSize) {
      actions.append(.send([members[place].connection], frame))
    } else {
      members[place].outgoing.append(frame)
    }
  }
}
