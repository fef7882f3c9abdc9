extension HubState {
  /// A member has posted a message.
  mutating func post(
    _ message: Message, from place: Int, _ actions: inout [HubAction]
  ) {
    guard members[place].stage == .open, message.sender == members[place].peer.id else {
      close(place, reason: "A member posts before it has joined, or as another.", &actions)
      return
    }
    guard message.number > known[message.sender] ?? 0 else {
      // It has been recovered from the log of another member. The sender waits for a position.
      let frame = HubFrame.sequenced(
        sender: message.sender, first: message.number, count: 1,
        position: recovered)
      send(frame, to: place, &actions)
      return
    }
    let position = sequence(message, isForgotten: false, from: place, &actions)
    if var run = members[place].run,
      run.first + UInt64(run.count) == message.number,
      run.position.sequence + UInt64(run.count) == position.sequence
    {
      run.count += 1
      members[place].run = run
    } else {
      endRun(of: place, &actions)
      members[place].run = HubMember.Run(first: message.number, count: 1, position: position)
    }
  }

  /// Sends a member the positions of its messages.
  mutating func endRun(of place: Int, _ actions: inout [HubAction]) {
    guard let run = members[place].run else { return }
    members[place].run = nil
    let frame = HubFrame.sequenced(
      sender: members[place].peer.id, first: run.first, count: run.count, position: run.position)
    send(frame, to: place, &actions)
  }

  /// Assigns the next position to a message, stores it, and sends it to the open members that
  /// subscribe.
  mutating func sequence(
    _ message: Message, isForgotten: Bool, from place: Int, _ actions: inout [HubAction]
  ) -> Position {
    last.sequence += 1
    known[message.sender] = message.number
    var message = message
    message.position = last
    log.append(LogEntry(message: message, isForgotten: isForgotten))
    while log.trim() != nil {}

    let receivers = route(of: message.subject, from: place)
    if isForgotten {
      for receiver in receivers.places {
        members[receiver].sent = last
        send(.lost([Loss(message)]), to: receiver, &actions)
      }
      return last
    }
    if !receivers.groups.isEmpty { share(message, with: receivers.groups, &actions) }
    if receivers.lacksGroup || receivers.places.isEmpty && receivers.groups.isEmpty {
      members[place].unheard &+= 1
    }
    var waits = false
    let size = message.cost
    for receiver in receivers.places {
      members[receiver].sent = last
      if !members[receiver].outgoing.hand(size) {
        members[receiver].outgoing.append(message)
        waits = true
      }
    }
    if !waits {
      if !receivers.connections.isEmpty {
        actions.append(.send(receivers.connections, .message(message)))
      }
    } else {
      sendToOthers(message, receivers, &actions)
    }
    return last
  }

  /// Sends a message to the members for which nothing waits.
  ///
  /// For members that receive the message here, nothing waits. The other members have this message
  /// already.
  private func sendToOthers(
    _ message: Message, _ receivers: HubMember.Receivers, _ actions: inout [HubAction]
  ) {
    let connections = receivers.places.filter { members[$0].outgoing.isEmpty }
      .map { members[$0].connection }
    guard !connections.isEmpty else { return }
    actions.append(.send(connections, .message(message)))
  }

  /// The receivers of a subject, without the member that posts.
  private mutating func route(of subject: String, from place: Int) -> HubMember.Receivers {
    if let route = members[place].route, route.subject == subject { return route.receivers }
    var receivers = route(of: subject)
    if let index = receivers.places.firstIndex(of: place) {
      receivers.places.remove(at: index)
      receivers.connections.remove(at: index)
    }
    findGroups(of: subject, from: place, &receivers)
    members[place].route = (subject, receivers)
    return receivers
  }

  private mutating func route(of subject: String) -> HubMember.Receivers {
    if let receivers = routes[subject] { return receivers }
    let places = members.indices.filter {
      members[$0].stage == .open && members[$0].hears(subject)
    }
    let receivers = HubMember.Receivers(
      places: places, connections: places.map { members[$0].connection })
    if routes.count >= 1_024 { routes = [:] }
    routes[subject] = receivers
    return receivers
  }

  /// Members, subscriptions or stages have changed.
  mutating func forgetRoutes() {
    routes = [:]
    for place in members.indices { members[place].route = nil }
  }
}

extension Loss {
  /// One message that has been forgotten.
  init(_ message: Message) {
    self.init(
      sender: message.sender, subject: message.subject, count: 1, number: message.number,
      position: message.position)
  }
}
