/// Members of an older generation that join when the hub is open.
///
/// The hub asks them for what they have, gives them what its log has, and says if that may not be all.
extension HubState {
  /// Asks a late member for its log, once.
  mutating func askLate(_ place: Int, _ actions: inout [HubAction]) {
    if members[place].collectToken != nil { return }
    let joinedAt = members[place].joinedAt
    if joinedAt.generation < generation, recovered == .none {
      // No member of an older generation has been recovered: this one is the first.
      (since, gap, recovered) = (joinedAt, joinedAt, joinedAt)
    }
    lastToken += 1
    // It is not known what others lack of older generations.
    let isOlder = joinedAt.generation < since.generation
    ask(place, since: isOlder ? .none : min(since, joinedAt), &actions)
  }

  /// Opens a late member, whose log is there.
  mutating func repair(_ place: Int, _ actions: inout [HubAction]) {
    report(late, to: place, &actions)
    let offered = takeOver(from: place, &actions)
    // Entries that the member has are not sent to it, and its offer is settled.
    let merged = Recovered.merge(log.entries(since: .none))
      .filter { !offered.contains($0.message.key) }
    // The messages that the log never had are lost, and nobody knows how many they are. Another one
    // that was missing, too, may alone have what came before the recovery.
    let isAlone = missing.isSubset(of: [members[place].peer.id])
    var floor = max(log.floor, gap, isAlone ? .none : since)
    // Its generation began without the members that took part in the recovery.
    let joinedAt = members[place].joinedAt
    if joinedAt.generation > recovered.generation, joinedAt.generation < generation { floor = last }
    give(merged, floor: floor, to: place, &actions)
    (members[place].collected, members[place].given) = ([], [])
    open(place, &actions)
    handOutAll(&actions)
    sendPeers(newcomer: place, &actions)
  }

  /// Sequences the messages that only a late member knows, and returns all that it knows.
  ///
  /// A message is too late if a later one of its sender is known. It is also too late if it was
  /// sequenced before the recovered messages, because it might be received after its answer. Such
  /// messages are reported as lost.
  private mutating func takeOver(
    from place: Int, _ actions: inout [HubAction]
  ) -> Set<Message.Key> {
    let merged = Recovered.merge(members[place].collected)
    let positions = Dictionary(
      log.entries(since: .none).map { ($0.message.key, $0.message.position) },
      uniquingKeysWith: max)
    let floor = max(log.floor, gap)
    var late: [String: Position] = [:]
    for entry in merged {
      var message = entry.message
      var position = positions[message.key]
      if position != nil, position == message.position { continue }
      if position == nil {
        let isNews = message.number > known[message.sender] ?? 0
        if isNews, message.position == .none || message.position > recovered {
          position = sequence(message, from: place, &actions)
        } else {
          if message.position == .none {
            // A hub of the member's generation has given it one, which nobody knows.
            message.position = members[place].joinedAt
            message.position.sequence = .max
          }
          // Others are those that the hub may have forgotten.
          if isNews || message.position > floor {
            late[message.subject] = max(late[message.subject] ?? .none, message.position)
          }
        }
      }
      // With an old position the member's log would not offer the message to a later hub.
      guard position != nil || entry.isUnknownToSender else { continue }
      let frame = HubFrame.sequenced(
        sender: message.sender, first: message.number, count: 1, position: position ?? recovered)
      send(frame, to: place, &actions)
    }
    for other in members.indices where other != place && members[other].stage == .open {
      report(late, to: other, &actions)
    }
    self.late.merge(late, uniquingKeysWith: max)
    return Set(merged.map(\.message.key))
  }

  /// Reports to a member that it will not get messages that came too late, if it may lack them.
  private mutating func report(
    _ late: [String: Position], to place: Int, _ actions: inout [HubAction]
  ) {
    let member = members[place]
    let lacked = late.filter { subject, position in
      !member.isNew && member.hears(subject)
        && (position > member.joinedAt || position.generation < member.joinedAt.generation)
    }
    guard let last = lacked.values.max() else { return }
    send(.lost([.unknown(before: min(last, self.last))]), to: place, &actions)
  }
}
