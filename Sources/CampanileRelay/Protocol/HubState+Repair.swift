/// Members of an older generation that join when the hub is open.
///
/// The hub asks them one after another for what they have, and sends them what they lack.
extension HubState {
  /// The repair of one late member.
  struct Repair {
    var connection: ConnectionID
    var ticks = 0
    /// How much has been collected, and for how many ticks no more has arrived.
    var collected = (count: 0, idleTicks: 0)
    /// The members whose logs are asked for.
    var asked: [ConnectionID]
    /// Whether others than the late member are asked.
    var asksOthers = false
    /// Whether they may know of messages that the hub does not know.
    var mayLackTraces = false
    /// Whether one of them has not answered or has left, and may know what the others do not.
    var isIncomplete = false
  }

  /// For how many ticks a repair waits for members that live and do not get on with their logs.
  ///
  /// An observer may keep a member from reading for as long as messages wait for it.
  private static let longestIdle = 50

  /// Begins with the next late member.
  mutating func repairNext(_ actions: inout [HubAction]) {
    guard isOpen, repair == nil else { return }
    // A member that is silent would keep the others waiting.
    let late = members.indices.filter { members[$0].stage == .late && members[$0].isPresent }
    guard let place = late.first else { return }
    let joinedAt = members[place].joinedAt
    if joinedAt.generation < generation, recovered == .none {
      // No member of an older generation has been recovered: this one is the first.
      since = joinedAt
      recoveries[generation] = Recovery(generation: generation, since: since, last: joinedAt)
    }
    let lowest = lowest(for: joinedAt)
    lastToken += 1
    ask(place, since: min(since, lowest), &actions)
    repair = Repair(connection: members[place].connection, asked: [members[place].connection])
    // The hub's logs begin later. What is missing is in those of others.
    repair?.mayLackTraces = lowest < since
    if lowest < since || hasForgotten(after: lowest, for: members[place]) {
      askOthers(since: lowest, &actions)
    }
  }

  /// Asks the open members for what the hub has not, or not any more.
  private mutating func askOthers(since lowest: Position, _ actions: inout [HubAction]) {
    repair?.asksOthers = true
    repair?.ticks = 0
    repair?.collected = (0, 0)
    let mayLackTraces = repair?.mayLackTraces == true
    for other in members.indices where members[other].stage == .open {
      // The hub counts what is lost without their payloads.
      if !mayLackTraces && !members[other].isPresent { continue }
      if members[other].isDeaf {
        if mayLackTraces { repair?.isIncomplete = true }
        continue
      }
      ask(other, since: lowest, &actions)
      repair?.asked.append(members[other].connection)
    }
  }

  /// Whether the hub's logs have no payload of something that a member may lack.
  private func hasForgotten(after position: Position, for member: HubMember) -> Bool {
    // Few subjects, and many messages.
    var heard: [String: Bool] = [:]
    return [log, older].contains { log in
      log.hasForgotten(after: position) { subject in
        if let known = heard[subject] { return known }
        let hears = member.hears(subject)
        heard[subject] = hears
        return hears
      }
    }
  }

  /// A connection has been closed.
  mutating func repairLeft(_ connection: ConnectionID, _ actions: inout [HubAction]) {
    if repair?.connection == connection {
      giveUpRepair()
      repairNext(&actions)
    } else if repair?.asked.contains(connection) == true {
      // The part of its log that it has sent is gone with it, too.
      repair?.isIncomplete = true
    }
    endRepair(&actions)
  }

  mutating func tickRepair(_ actions: inout [HubAction]) {
    guard let current = repair else {
      repairNext(&actions)
      return
    }
    repair?.ticks += 1
    let patience = places[current.connection].map { members[$0].patience } ?? 0
    let count = current.asked.compactMap { places[$0] }.reduce(0) { count, place in
      count + members[place].collected.count + (members[place].collectToken == nil ? 1 : 0)
    }
    let idleTicks = count == current.collected.count ? current.collected.idleTicks + 1 : 0
    repair?.collected = (count, idleTicks)
    guard current.ticks + 1 >= patience else { return }
    let isUnderWay = current.asked.contains { connection in
      guard let place = places[connection] else { return false }
      return members[place].collectToken != nil && members[place].isPresent
    }
    // One that has much to send takes its time.
    if isUnderWay && idleTicks < Self.longestIdle { return }
    for connection in current.asked {
      guard let place = places[connection] else { continue }
      if connection == current.connection, members[place].collectToken != nil {
        // It is asked again when all others have had their turn.
        giveUpRepair()
        postpone(place)
        repairNext(&actions)
        return
      }
      if members[place].collectToken != nil {
        if current.mayLackTraces { repair?.isIncomplete = true }
        members[place].isDeaf = true
      }
      members[place].collectToken = nil
    }
    endRepair(&actions)
  }

  /// Takes the question for the logs back.
  private mutating func giveUpRepair() {
    for place in (repair?.asked ?? []).compactMap({ places[$0] }) {
      members[place].collectToken = nil
      members[place].collected = []
    }
    repair = nil
  }

  /// Puts a member behind all others.
  private mutating func postpone(_ place: Int) {
    members[place].patience = min(2 * members[place].patience, max(80, silenceLimit))
    members.append(members.remove(at: place))
    for (place, member) in members.enumerated() { places[member.connection] = place }
    forgetRoutes()
  }

  /// Opens the late member once all logs are there.
  mutating func endRepair(_ actions: inout [HubAction]) {
    guard let current = repair, let place = places[current.connection] else { return }
    let asked = current.asked.compactMap { places[$0] }
    guard asked.allSatisfy({ members[$0].collectToken == nil }) else { return }
    let lowest = lowest(for: members[place].joinedAt)
    // The hub may have forgotten more meanwhile.
    if !current.asksOthers, hasForgotten(after: lowest, for: members[place]) {
      lastToken += 1
      askOthers(since: lowest, &actions)
      if repair?.asked.count != 1 { return }
    }
    repair = nil
    let others = asked.filter { $0 != place }

    for other in others { keep(members[other].collected) }
    if !current.isIncomplete { since = min(since, lowest) }
    let offered = takeOver(from: place, &actions)
    // Entries that the member has are not sent to it, and its offer is settled. The others may have sent
    // entries that the hub has forgotten.
    let known = log.entries(since: .none) + older.entries(since: .none)
    let forgotten = Set(known.lazy.filter(\.isForgotten).map(\.message.key))
    let found = others.flatMap { members[$0].collected }.filter { entry in
      !entry.isForgotten && entry.message.position != .none
        && forgotten.contains(entry.message.key)
    }
    let merged = Recovered.merge(known + found).filter { !offered.contains($0.message.key) }
    let othersFloor = others.map { members[$0].floor }.max() ?? .none
    let floor = max(
      log.floor, older.floor, current.mayLackTraces ? othersFloor : .none,
      // If a member has not reported, entries may be missing, and their number cannot be known.
      current.isIncomplete ? since : .none)
    give(merged, floor: floor, to: place, &actions)
    for place in asked { members[place].collected = [] }
    open(place, &actions)
    handOutAll(&actions)
    sendPeers(newcomer: place, &actions)
    repairNext(&actions)
  }

  /// Keeps those of older generations that the hub does not have yet.
  private mutating func keep(_ entries: [LogEntry]) {
    let positions = knownPositions()
    for entry in entries
    where positions[entry.message.key] == nil && entry.message.position != .none {
      keep(entry)
    }
  }

  private mutating func keep(_ entry: LogEntry) {
    older.append(entry)
    while older.trim() != nil {}
  }

  private func knownPositions() -> [Message.Key: Position] {
    let entries = log.entries(since: .none) + older.entries(since: .none)
    return Dictionary(
      entries.map { ($0.message.key, $0.message.position) }, uniquingKeysWith: max)
  }

  /// Sequences the messages that only a late member knows, and returns all that it knows.
  ///
  /// A message is too late if a later one of its sender is known. It is also too late if it was
  /// sequenced before the recovered messages, because it might be received after its answer. Such a
  /// message is reported as lost.
  private mutating func takeOver(
    from place: Int, _ actions: inout [HubAction]
  ) -> Set<Message.Key> {
    let member = members[place]
    let merged = Recovered.merge(member.collected)
    let positions = knownPositions()
    for entry in merged {
      var message = entry.message
      var position = positions[message.key]
      if position != nil, position == message.position { continue }
      if position == nil {
        let isLate =
          message.position != .none
          && recovery(of: message.position).map {
            message.position <= $0.last
          } ?? false
        if message.number > known[message.sender] ?? 0, !isLate {
          position = sequence(message, isForgotten: entry.isForgotten, from: place, &actions)
        } else {
          reportLate(message, from: place, &actions)
          // Members that join later may still receive it.
          if message.position == .none { message.position = recovered }
          keep(LogEntry(message: message, isForgotten: entry.isForgotten))
        }
      }
      // With an old position the member's log would not offer the message to a later hub.
      guard position != nil || entry.isUnknownToSender else { continue }
      let frame = HubFrame.sequenced(
        sender: message.sender, first: message.number, count: 1, position: position ?? recovered)
      send(frame, to: place, &actions)
    }
    return Set(merged.map(\.message.key))
  }

  /// Reports to the members that were present at the recovery that they will not get a message.
  private mutating func reportLate(
    _ message: Message, from place: Int, _ actions: inout [HubAction]
  ) {
    // Nothing is said of messages that the hub itself has forgotten.
    guard log.floor == .none, older.floor == .none else { return }
    for other in members.indices where other != place {
      let member = members[other]
      guard member.stage == .open, !member.isNew, member.hears(message.subject),
        member.peer.id != message.sender,
        message.position == .none || member.joinedAt < message.position
          || member.joinedAt.generation > message.position.generation
      else { continue }
      reportMissed(message, by: other, &actions)
    }
  }
}
