extension HubState {
  mutating func join(
    _ hello: MemberFrame.Hello, _ place: Int, _ actions: inout [HubAction]
  ) {
    guard members[place].stage == .greeting else {
      close(place, reason: "A member says hello twice.", &actions)
      return
    }
    guard hello.peer.name.utf8.count <= Peer.nameLimit else {
      close(place, reason: "A member's name has \(hello.peer.name.utf8.count) bytes.", &actions)
      return
    }
    do throws(FrameError) {
      var patterns: [SubjectPattern] = []
      for interest in hello.subscriptions {
        add(try SubjectPattern(validating: interest.pattern), interest.group, to: place)
      }
      for text in hello.answers { patterns.append(try SubjectPattern(validating: text)) }
      members[place].answers = patterns
    } catch {
      close(place, reason: error.message, &actions)
      return
    }
    members[place].peer = hello.peer
    members[place].outgoing = Outgoing(hello.buffering)
    // Positions of another bus mean nothing here.
    members[place].joinedAt = hello.busID == busID ? hello.position : .none
    if !members[place].isNew {
      (members[place].settled, members[place].stable) = (hello.settled, hello.stable)
      for recovery in hello.recoveries where recovery.generation < generation {
        // A hub changes its own once, when the first late member comes.
        if let known = recoveries[recovery.generation], known.last > recovery.last { continue }
        recoveries[recovery.generation] = recovery
      }
    }
    // From now on, the hub may open at any time, and opens the members that are joining.
    let isLate = !isGathering && !members[place].isNew
    members[place].stage = isLate ? .late : .joining
    let connection = members[place].connection
    send(.welcome(generation: generation, busID: busID), to: place, &actions)

    // The member has made another connection; the end of the old one has not been seen yet.
    if let old = members.firstIndex(where: {
      $0.peer.id == hello.peer.id && $0.connection != connection && $0.stage != .greeting
    }) {
      close(old, reason: nil, &actions)
    }
    guard let place = places[connection] else { return }
    switch phase {
    case .gathering(var expected, let ticks):
      expected.remove(hello.peer.id)
      phase = .gathering(expected: expected, ticks: ticks)
      endGathering(&actions)
    case .recovering: break
    case .open:
      if isLate { return askLate(place, &actions) }
      open(place, &actions)
      handOutAll(&actions)
      sendPeers(newcomer: place, &actions)
    }
  }

  /// Asks for the logs when no further member is expected.
  mutating func endGathering(_ actions: inout [HubAction]) {
    guard case .gathering(let expected, _) = phase, expected.isEmpty else { return }
    let joined = members.indices.filter {
      members[$0].stage == .joining && !members[$0].isNew
    }
    since = joined.map { lowest(for: members[$0].joinedAt) }.min() ?? .none
    // The messages that groups lack may be older than those that members lack.
    let settled = groups.isEmpty ? since : joined.map { members[$0].settled }.max() ?? .none
    stableBefore = min(since, joined.map { members[$0].stable }.max() ?? .none)
    // A member that is missing may lack what is not known to be stable.
    gap = min(since, settled, missing.isEmpty ? since : stableBefore)
    phase = .recovering(ticks: 0)
    lastToken += 1
    for place in joined {
      members[place].stage = .recovering
      ask(place, since: gap, &actions)
    }
    endRecovery(&actions)
  }

  /// Asks a member for its log, with the last token.
  mutating func ask(_ place: Int, since: Position, _ actions: inout [HubAction]) {
    (members[place].collected, members[place].given) = ([], [])
    members[place].collectToken = lastToken
    send(.collect(token: lastToken, since: since), to: place, &actions)
  }

  mutating func collectedAll(
    _ token: UInt64, _ floor: Position, _ place: Int, _ actions: inout [HubAction]
  ) {
    guard members[place].collectToken == token else {
      // The answer to an earlier question.
      members[place].collected = []
      return
    }
    members[place].collectToken = nil
    members[place].floor = floor
    if isOpen { repair(place, &actions) } else { endRecovery(&actions) }
  }

  /// Opens the hub once all logs are there.
  mutating func endRecovery(_ actions: inout [HubAction]) {
    guard case .recovering = phase else { return }
    let answered = members.indices.filter { members[$0].stage == .recovering }
    guard answered.allSatisfy({ members[$0].collectToken == nil }) else { return }
    phase = .open
    recover(answered, &actions)
    for place in members.indices
    where members[place].stage == .recovering || members[place].stage == .joining {
      open(place, &actions)
    }
    actions.append(.opened)
    handOutAll(&actions)
    sendPeers(&actions)
    for place in members.indices where members[place].stage == .late { askLate(place, &actions) }
  }

  /// Merges the logs of the members, and sends each member what it lacks.
  private mutating func recover(_ answered: [Int], _ actions: inout [HubAction]) {
    var merged = Recovered.merge(answered.flatMap { members[$0].collected })
    let positions = merged.map(\.message.position) + answered.map { members[$0].joinedAt }
    recoveries[generation] = Recovery(
      generation: generation, since: since, last: positions.max() ?? .none)
    for index in merged.indices {
      if merged[index].message.position == .none {
        last.sequence += 1
        merged[index].message.position = last
      }
      let message = merged[index].message
      if !merged[index].isForgotten { recoverShared(message, answered) }
      known[message.sender] = max(known[message.sender] ?? 0, message.number)
      log.append(LogEntry(message: message, isForgotten: merged[index].isForgotten))
      while log.trim() != nil {}
    }
    gap = max(gap, answered.map { members[$0].floor }.max() ?? .none)
    for place in answered {
      let floor = answered.filter { $0 != place }.map { members[$0].floor }.max() ?? .none
      give(merged, floor: floor, to: place, &actions)
    }
    for place in answered { (members[place].collected, members[place].given) = ([], []) }
  }

  /// Sends a member the messages that it subscribes to and lacks, and the positions of those it
  /// posted.
  ///
  /// It says if the member lacks others that were found too late. These are messages that were missing
  /// when the member's generation was recovered, and messages whose sender has later ones at the
  /// member, which it did not receive while it was open.
  mutating func give(
    _ merged: [Recovered], floor: Position, to place: Int, _ actions: inout [HubAction]
  ) {
    let member = members[place]
    // The highest position of the messages that the member lacks.
    var lacked = floor > member.joinedAt ? floor : Position.none
    var highest: [MemberID: Message] = [:]
    // What the member has had up to here is not among what was found too late, or it has forgotten it.
    let complete = max(min(since, lowest(for: member.joinedAt)), member.floor)
    // Few subjects, and many messages.
    var heard: [String: Bool] = [:]
    func hears(_ subject: String) -> Bool {
      if let known = heard[subject] { return known }
      let hears = member.hears(subject)
      heard[subject] = hears
      return hears
    }
    var had: [Message.Key: Position] = [:]
    for message in member.collected.lazy.map(\.message) {
      had[message.key] = message.position
      if message.number > highest[message.sender]?.number ?? 0 { highest[message.sender] = message }
    }
    for entry in merged {
      let message = entry.message
      if let position = had[message.key] {
        // With an old position the log would not offer the message to a later hub.
        guard position != message.position else { continue }
        let frame = HubFrame.sequenced(
          sender: message.sender, first: message.number, count: 1, position: message.position)
        send(frame, to: place, &actions)
        continue
      }
      guard message.sender != member.peer.id, hears(message.subject) else { continue }
      if covers(message.position, member.joinedAt) {
        let isOlder = message.position.generation < member.joinedAt.generation
        if isOlder, message.position > complete { lacked = max(lacked, message.position) }
      } else if let later = highest[message.sender], message.number < later.number {
        if !member.wasOpen(at: later.position) { lacked = max(lacked, message.position) }
      } else {
        let frame = entry.isForgotten ? HubFrame.lost([Loss(message)]) : .message(message)
        send(frame, to: place, &actions)
      }
    }
    if lacked != .none { send(.lost([.unknown(before: lacked)]), to: place, &actions) }
  }

  /// Makes a member part of the generation.
  mutating func open(_ place: Int, _ actions: inout [HubAction]) {
    members[place].stage = .open
    missing.remove(members[place].peer.id)
    members[place].sent = last
    let ownNumber = known[members[place].peer.id] ?? 0
    let recovery =
      recoveries[generation] ?? Recovery(generation: generation, since: .none, last: .none)
    send(.open(position: last, ownNumber: ownNumber, recovery), to: place, &actions)
    forgetRoutes()
  }

  private var peers: HubFrame {
    .peers(members.filter { $0.stage == .open }.map(\.peer), hub: own)
  }

  /// Sends the list of the open members to each of them.
  mutating func sendPeers(_ actions: inout [HubAction]) {
    let peers = peers
    for place in members.indices where members[place].stage == .open {
      send(peers, to: place, &actions)
    }
  }

  /// Sends the list to a member, and tells the others of it.
  mutating func sendPeers(newcomer place: Int, _ actions: inout [HubAction]) {
    send(peers, to: place, &actions)
    sendChange(.joined(members[place].peer), except: place, &actions)
  }

  /// Reports a member that has joined or left to the open members.
  ///
  /// A member for which frames wait gets the whole list behind them, which the next list takes the
  /// place of. Otherwise ever more changes would wait for one that is stopped.
  mutating func sendChange(
    _ change: HubFrame, except newcomer: Int?, _ actions: inout [HubAction]
  ) {
    for place in members.indices where members[place].stage == .open && place != newcomer {
      send(members[place].outgoing.isEmpty ? change : peers, to: place, &actions)
    }
  }

  mutating func tickJoining(_ actions: inout [HubAction]) {
    switch phase {
    case .gathering(let expected, let ticks):
      let isOver = ticks + 1 >= patience
      if isOver { missing.formUnion(expected) }
      phase = .gathering(expected: isOver ? [] : expected, ticks: ticks + 1)
      endGathering(&actions)
    case .recovering(let ticks):
      phase = .recovering(ticks: ticks + 1)
      guard ticks + 1 >= patience else { return }
      // One that has much to send takes its time.
      for place in members.indices
      where members[place].collectToken != nil && members[place].silentTicks >= patience {
        (members[place].stage, members[place].collectToken) = (.late, nil)
        missing.insert(members[place].peer.id)
      }
      endRecovery(&actions)
    case .open: break
    }
  }
}
