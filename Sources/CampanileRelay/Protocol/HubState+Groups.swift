/// The messages that wait until a member of a group takes them.
struct Group {
  /// The messages that members have had in hand and not taken, oldest first.
  private var returned: [Message] = []
  private var waiting = Queue<Message>()
  private(set) var bytes = 0
  /// The patterns that members have shared, present ones or not.
  private(set) var patterns: Set<SubjectPattern> = []
  /// The member that got the last one: of those with as many in hand, the next one gets the next.
  var latest = MemberID(rawValue: 0)

  /// The patterns of members that have left are remembered up to so many.
  private static let patternLimit = 1_024

  var first: Message? { returned.first ?? waiting.first }
  var count: Int { returned.count + waiting.count }
  /// The lowest position of what waits.
  var lowest: Position? {
    (returned.map(\.position) + [waiting.first?.position].compactMap { $0 }).min()
  }

  /// Whether more waits than so many bytes, in more than one message.
  func exceeds(_ limit: Int) -> Bool { bytes > limit && count > 1 }

  mutating func remember(_ pattern: SubjectPattern) {
    if patterns.count < Self.patternLimit { patterns.insert(pattern) }
  }

  mutating func append(_ message: Message) {
    bytes += message.cost
    waiting.append(message)
  }

  mutating func popFirst() -> Message? {
    let message = returned.isEmpty ? waiting.popFirst() : returned.removeFirst()
    bytes -= message?.cost ?? 0
    return message
  }

  /// Puts messages before those that wait.
  mutating func putBack(_ messages: [Message]) {
    bytes += messages.reduce(0) { $0 + $1.cost }
    returned = (messages + returned).sorted { $0.position < $1.position }
  }

  /// A message that a member had in hand has been taken all the same.
  mutating func forget(_ key: Message.Key) -> Message? {
    guard let index = returned.firstIndex(where: { $0.key == key }) else { return nil }
    bytes -= returned[index].cost
    return returned.remove(at: index)
  }
}

/// A message that a member has taken for a group.
struct TakenMessage {
  var group: String
  var key: Message.Key
  var position: Position
}

/// The messages that groups share: one member of the group receives each.
///
/// A message waits until a member has few in hand. That member has it in hand until it says that its
/// observers have taken it. What it has not taken when it leaves, or is stopped, waits again.
extension HubState {
  /// So many messages a member has in hand.
  private static let handful = 16
  /// So many messages that were taken are remembered, while an older one is not.
  private static let takenLimit = 16_384

  /// Finds the groups that share the messages of a subject.
  mutating func findGroups(
    of subject: String, from place: Int, _ receivers: inout HubMember.Receivers
  ) {
    for (name, group) in groups where group.patterns.contains(where: { $0.matches(subject) }) {
      let isThere = members.indices.contains {
        $0 != place && members[$0].stage == .open && members[$0].shares(subject, in: name)
      }
      if isThere { receivers.groups.append(name) } else { receivers.lacksGroup = true }
    }
  }

  /// A message has been posted that groups share.
  mutating func share(
    _ message: Message, with names: [String], _ actions: inout [HubAction]
  ) {
    for name in names {
      groups[name, default: Group()].append(message)
      while groups[name]?.exceeds(Self.standardLogLimit) == true,
        let dropped = groups[name]?.popFirst()
      {
        send(.dropped(subject: dropped.subject), toSenderOf: dropped, &actions)
      }
      handOut(name, &actions)
    }
  }

  private mutating func send(
    _ frame: HubFrame, toSenderOf message: Message, _ actions: inout [HubAction]
  ) {
    guard let place = members.firstIndex(where: { $0.peer.id == message.sender }) else { return }
    send(frame, to: place, &actions)
  }

  mutating func handOutAll(_ actions: inout [HubAction]) {
    if !isOpen || groups.isEmpty { return }
    for name in groups.keys.sorted() { handOut(name, &actions) }
  }

  /// Gives what waits to members that have few in hand.
  private mutating func handOut(_ name: String, _ actions: inout [HubAction]) {
    // The group is changed where it is stored: a copy would copy all that waits, for each message.
    while let message = groups[name]?.first {
      let places = members.indices.filter { canTake(message, in: name, $0) }
      if places.isEmpty {
        _ = groups[name]?.popFirst()
        send(.unheard(1), toSenderOf: message, &actions)
        continue
      }
      let present = places.filter { members[$0].isPresent }
      guard let latest = groups[name]?.latest, let place = next(of: present, after: latest) else {
        return
      }
      _ = groups[name]?.popFirst()
      groups[name]?.latest = members[place].peer.id
      members[place].inHand.append(.init(group: name, message: message))
      send(.shared(group: name, message), to: place, &actions)
    }
  }

  private func canTake(_ message: Message, in group: String, _ place: Int) -> Bool {
    members[place].stage == .open && members[place].peer.id != message.sender
      && members[place].shares(message.subject, in: group)
  }

  /// The one with the fewest in hand, after the one that got the last message.
  private func next(of places: [Int], after latest: MemberID) -> Int? {
    let fewest = places.map { members[$0].inHand.count }.min() ?? Self.handful
    if fewest >= Self.handful { return nil }
    let free = places.filter { members[$0].inHand.count == fewest }
      .sorted { members[$0].peer.id < members[$1].peer.id }
    return free.first { members[$0].peer.id > latest } ?? free.first
  }

  /// A member has taken a message, or gives it back.
  mutating func taken(
    _ shared: MemberFrame.Shared, by place: Int, _ actions: inout [HubAction]
  ) {
    var given = members[place].takeFromHand(shared.group, shared.key)
    // While logs are collected, what the member has said of it is out of date.
    if let said = members[place].given.firstIndex(where: {
      ($0.group, $0.key) == (shared.group, shared.key)
    }) {
      members[place].given[said] = shared
      if !shared.isTaken { members[place].given.remove(at: said) }
    }
    if shared.isTaken {
      // If it had been taken for stopped, what still waits for another one need not be taken again.
      given = given ?? groups[shared.group]?.forget(shared.key)
      if let given { remember(given, takenFor: shared.group) }
    } else if let given {
      groups[shared.group]?.putBack([given])
    }
    handOut(shared.group, &actions)
  }

  private mutating func remember(_ message: Message, takenFor group: String) {
    if taken.count >= Self.takenLimit { taken.removeFirst(Self.takenLimit / 2) }
    taken.append(TakenMessage(group: group, key: message.key, position: message.position))
  }

  /// The hub leaves: sends the members what they need, so that the next hub sends no message twice.
  mutating func end(_ actions: inout [HubAction]) {
    if !isOpen { return }
    let (settled, stable) = (settled, stable)
    for place in members.indices where members[place].stage == .open {
      endRun(of: place, &actions)
      send(.ping(last, settled: settled, stable: stable), to: place, &actions)
      for message in taken where message.position > settled {
        send(.taken(group: message.group, message.key, message.position), to: place, &actions)
      }
    }
  }

  /// Puts back what a member had in hand that has left.
  mutating func takeBack(from member: HubMember) {
    for given in member.inHand { groups[given.group]?.putBack([given.message]) }
  }

  /// Gives others what stopped members have in hand, if there are others.
  mutating func tickGroups(_ actions: inout [HubAction]) {
    for place in members.indices where !members[place].isPresent {
      for given in members[place].inHand {
        let canMove = members.indices.contains {
          $0 != place && members[$0].isPresent && canTake(given.message, in: given.group, $0)
        }
        if !canMove { continue }
        _ = members[place].takeFromHand(given.group, given.message.key)
        groups[given.group]?.putBack([given.message])
      }
    }
    handOutAll(&actions)
  }

  /// A message has been recovered: it waits for its groups, unless a member has had it.
  mutating func recoverShared(_ message: Message, _ answered: [Int]) {
    let settled = answered.map { members[$0].settled }.max() ?? .none
    if message.position <= settled { return }
    for (name, group) in groups
    where group.patterns.contains(where: { $0.matches(message.subject) }) {
      var isGiven = false
      for place in answered {
        let given = members[place].given.first { $0.group == name && $0.key == message.key }
        if given?.isTaken == false {
          members[place].inHand.append(.init(group: name, message: message))
        }
        isGiven = isGiven || given != nil
      }
      if !isGiven { groups[name]?.append(message) }
    }
  }

  /// All that groups were to take has been taken up to here, if that is known yet.
  var settled: Position {
    if !isOpen { return .none }
    let waiting = groups.values.compactMap(\.lowest)
    let lowest = (waiting + members.flatMap(\.inHand).map(\.message.position)).min()
    guard let lowest else { return last }
    return Position(generation: lowest.generation, sequence: lowest.sequence &- 1)
  }
}

extension HubMember {
  /// Takes a message out of the member's hand.
  fileprivate mutating func takeFromHand(_ group: String, _ key: Message.Key) -> Message? {
    let index = inHand.firstIndex { $0.group == group && $0.message.key == key }
    return index.map { inHand.remove(at: $0).message }
  }
}
