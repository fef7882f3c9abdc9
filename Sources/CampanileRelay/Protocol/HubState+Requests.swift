extension HubState {
  /// Passes a request to the first member to join of those that answer its subject.
  ///
  /// A member that is stopped is asked only if no other one answers. The member that asks is taken
  /// last.
  mutating func ask(
    _ request: Request, _ deadline: UInt32, from place: Int, _ actions: inout [HubAction]
  ) {
    var request = request
    request.from = members[place].peer.id
    ask(HubMember.Asked(request: request, ticks: deadline / 100 + 2), from: place, &actions)
  }

  private mutating func ask(
    _ asked: HubMember.Asked, from place: Int, _ actions: inout [HubAction]
  ) {
    let request = asked.request
    let answering = members.indices.filter {
      members[$0].stage == .open && !asked.passedOnBy.contains(members[$0].peer.id)
        && members[$0].answers.contains { $0.matches(request.subject) }
    }
    let others = answering.filter { $0 != place }
    let answerer = others.first { members[$0].isPresent } ?? others.first ?? answering.first
    guard let answerer else {
      send(
        .reply(correlation: request.correlation, status: .nobodyAnswers, payload: []), to: place,
        &actions)
      return
    }
    var kept = asked
    if answering.count == 1 { (kept.request.payload, kept.canPassOn) = ([], false) }
    members[answerer].asked.append(kept)
    send(.request(request), to: answerer, &actions)
  }

  /// Passes a reply to the member that asked, if that waits.
  ///
  /// If the member that was asked has not taken the request, the next one is asked.
  mutating func reply(
    to member: MemberID, _ correlation: UInt64, _ status: AnswerStatus, _ payload: [UInt8],
    from place: Int, _ actions: inout [HubAction]
  ) {
    let key = HubMember.Asked.Key(from: member, correlation: correlation)
    guard let index = members[place].asked.firstIndex(where: { $0.key == key }) else { return }
    var asked = members[place].asked.remove(at: index)
    guard let asking = members.firstIndex(where: { $0.peer.id == member && $0.stage == .open })
    else { return }
    if status == .nobodyAnswers, asked.canPassOn {
      asked.passedOnBy.append(members[place].peer.id)
      return ask(asked, from: asking, &actions)
    }
    members[asking].hasUnwrittenReply = true
    send(
      .reply(correlation: correlation, status: status, payload: payload), to: asking, &actions)
  }

  /// Forgets the requests of a member that has left, because it does not wait for the replies.
  mutating func forgetRequests(of member: HubMember) {
    let id = member.peer.id
    if members.contains(where: { $0.peer.id == id }) { return }
    for place in members.indices { forgetRequests(askedOf: place) { $0.request.from == id } }
  }

  /// Forgets some of the requests that a member was asked.
  ///
  /// Those that wait for it are taken back: a member that is stopped would have ever more of them.
  private mutating func forgetRequests(
    askedOf place: Int, where isOver: (HubMember.Asked) -> Bool
  ) {
    let over = members[place].asked.filter(isOver).map(\.key)
    if over.isEmpty { return }
    members[place].outgoing.forget(Set(over))
    members[place].asked.removeAll(where: isOver)
  }

  /// A member has left that was asked.
  mutating func failRequests(askedOf member: HubMember, _ actions: inout [HubAction]) {
    for key in member.asked.map(\.key) {
      guard let asking = members.firstIndex(where: { $0.peer.id == key.from && $0.stage == .open })
      else { continue }
      send(
        .reply(correlation: key.correlation, status: .disconnected, payload: []), to: asking,
        &actions)
    }
  }

  /// Forgets the requests whose members have stopped waiting.
  mutating func tickRequests(_ actions: inout [HubAction]) {
    for place in members.indices where !members[place].asked.isEmpty {
      for index in members[place].asked.indices { members[place].asked[index].ticks -= 1 }
      forgetRequests(askedOf: place) { $0.ticks == 0 }
    }
  }
}
