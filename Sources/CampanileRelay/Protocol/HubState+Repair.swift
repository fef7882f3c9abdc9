/// Members of an older generation that join when the hub is open.
///
/// The hub asks them one after another for what they have, and gives them what its log has. It asks the
/// others only if its log begins after what the late member has.
extension HubState {
  /// The repair of one late member.
  struct Repair {
    var connection: ConnectionID
    /// For how many ticks no part of a log has arrived.
    var idleTicks = 0
    /// The members whose logs are asked for.
    var asked: [ConnectionID]
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
    let next = members.indices.first {
      members[$0].stage == .late && members[$0].isPresent && !members[$0].isDeaf
    }
    guard let place = next else { return }
    let joinedAt = members[place].joinedAt
    if joinedAt.generation < generation, recovered == .none {
      // No member of an older generation has been recovered: this one is the first.
      since = joinedAt
      recoveries[generation] = Recovery(generation: generation, since: since, last: joinedAt)
    }
    let lowest = lowest(for: joinedAt)
    lastToken += 1
    ask(place, since: min(repairedSince ?? since, lowest), &actions)
    repair = Repair(connection: members[place].connection, asked: [members[place].connection])
    if lowest < since { askOthers(since: lowest, &actions) }
  }

  /// Asks the open members for what is before the hub's log.
  private mutating func askOthers(since lowest: Position, _ actions: inout [HubAction]) {
    for other in members.indices where members[other].stage == .open {
      if members[other].isDeaf {
        repair?.isIncomplete = true
      } else {
        ask(other, since: lowest, &actions)
        repair?.asked.append(members[other].connection)
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
    guard let current = repair else { return repairNext(&actions) }
    repair?.idleTicks += 1
    for place in current.asked.compactMap({ places[$0] })
    where members[place].collectToken != nil {
      // One that has much to send takes its time.
      let limit = members[place].isPresent ? Self.longestIdle : silenceLimit
      if current.idleTicks + 1 < limit { continue }
      members[place].isDeaf = true
      if members[place].connection == current.connection {
        // It is asked again when it has answered, after the others.
        giveUpRepair()
        return repairNext(&actions)
      }
      members[place].collectToken = nil
      repair?.isIncomplete = true
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

  /// Opens the late member once all logs are there.
  mutating func endRepair(_ actions: inout [HubAction]) {
    guard let current = repair, let place = places[current.connection] else { return }
    let asked = current.asked.compactMap { places[$0] }
    guard asked.allSatisfy({ members[$0].collectToken == nil }) else { return }
    repair = nil
    repairedSince = min(repairedSince ?? since, lowest(for: members[place].joinedAt))
    let others = asked.filter { $0 != place }
    // What has no position is on its way.
    let found = others.flatMap { members[$0].collected }.filter { $0.message.position != .none }
    let offered = takeOver(from: place, found, &actions)
    // Entries that the member has are not sent to it, and its offer is settled.
    let merged = Recovered.merge(log.entries(since: .none) + found)
      .filter { !offered.contains($0.message.key) }
    let floors = others.map { members[$0].floor } + [log.floor]
    // If a member has not reported, entries may be missing, and their number cannot be known.
    let floor = max(floors.max() ?? .none, current.isIncomplete ? since : .none)
    give(merged, floor: floor, to: place, &actions)
    for place in asked { members[place].collected = [] }
    open(place, &actions)
    handOutAll(&actions)
    sendPeers(newcomer: place, &actions)
    repairNext(&actions)
  }

  /// Sequences the messages that only a late member knows, and returns all that it knows.
  ///
  /// A message is too late if a later one of its sender is known. It is also too late if it was
  /// sequenced before the recovered messages, because it might be received after its answer. Such a
  /// message is reported as lost.
  ///
  /// - Parameter found: What others have that the hub's log may not have.
  private mutating func takeOver(
    from place: Int, _ found: [LogEntry], _ actions: inout [HubAction]
  ) -> Set<Message.Key> {
    let merged = Recovered.merge(members[place].collected)
    let positions = Dictionary(
      (log.entries(since: .none) + found).map { ($0.message.key, $0.message.position) },
      uniquingKeysWith: max)
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
          log.append(LogEntry(message: message, isForgotten: entry.isForgotten))
          while log.trim() != nil {}
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
    guard log.floor == .none else { return }
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
