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
      stableBefore = min(joinedAt, members[place].stable)
      (since, gap) = (joinedAt, isAlone(place) ? joinedAt : stableBefore)
      recoveries[generation] = Recovery(generation: generation, since: since, last: joinedAt)
    }
    lastToken += 1
    // Another one that is missing gets from the log what this one has.
    let from = isAlone(place) ? since : gap
    ask(place, since: min(from, lowest(for: joinedAt)), &actions)
  }

  /// Whether no other member is missing.
  private func isAlone(_ place: Int) -> Bool { missing.isSubset(of: [members[place].peer.id]) }

  /// Opens a late member, whose log is there.
  mutating func repair(_ place: Int, _ actions: inout [HubAction]) {
    let offered = takeOver(from: place, &actions)
    // Entries that the member has are not sent to it, and its offer is settled.
    let merged = Recovered.merge(log.entries(since: .none))
      .filter { !offered.contains($0.message.key) }
    let lowest = lowest(for: members[place].joinedAt)
    var floor = log.floor
    // The messages that the log never had are lost, and nobody knows how many they are.
    if lowest < gap { floor = max(floor, gap) }
    // Another one that was missing may alone have what came before the recovery.
    if lowest < since, missing != [members[place].peer.id] { floor = max(floor, since) }
    give(merged, floor: floor, to: place, &actions)
    gap = max(gap, members[place].floor)
    (members[place].collected, members[place].given) = ([], [])
    open(place, &actions)
    handOutAll(&actions)
    sendPeers(newcomer: place, &actions)
  }

  /// Sequences the messages that only a late member knows, and returns all that it knows.
  ///
  /// A message is too late if a later one of its sender is known. It is also too late if it was
  /// sequenced before the recovered messages, because it might be received after its answer. The
  /// members that lack such a message are told that they lack some.
  private mutating func takeOver(
    from place: Int, _ actions: inout [HubAction]
  ) -> Set<Message.Key> {
    let merged = Recovered.merge(members[place].collected)
    let positions = Dictionary(
      log.entries(since: .none).map { ($0.message.key, $0.message.position) },
      uniquingKeysWith: max)
    var late: [Message] = []
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
          late.append(message)
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
    report(late, from: place, &actions)
    return Set(merged.map(\.message.key))
  }

  /// Tells the members that were present at the recovery if they lack one of some messages.
  private mutating func report(
    _ late: [Message], from place: Int, _ actions: inout [HubAction]
  ) {
    // A member of this generation has brought all that it knows of older ones.
    if members[place].joinedAt.generation == generation { return }
    for other in members.indices where other != place {
      let member = members[other]
      guard member.stage == .open, !member.isNew else { continue }
      let lacked = late.filter { member.lacks($0) }.map(\.position)
      guard let highest = lacked.contains(.none) ? last : lacked.max() else { continue }
      send(.lost([.unknown(before: highest)]), to: other, &actions)
    }
  }
}

extension HubMember {
  /// Whether it was to hear a message that comes after it has gone on.
  fileprivate func lacks(_ message: Message) -> Bool {
    hears(message.subject) && peer.id != message.sender && !wasOpen(at: message.position)
  }

  /// Whether it had received what was posted at a position, at that time, when it joined.
  func wasOpen(at position: Position) -> Bool {
    position.generation == joinedAt.generation && position <= joinedAt
  }
}
