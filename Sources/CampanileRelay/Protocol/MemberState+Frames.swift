/// Handles the frames of a member's hub.
extension MemberState {
  mutating func receive(_ message: Message, _ actions: inout [MemberAction]) {
    advance(to: message.position)
    guard isNews(message.number, of: message.sender) else { return }
    horizon = max(horizon, message.position)
    received.append(LogEntry(message: message))
    while received.trim() != nil {}
    actions.append(.deliver(message))
  }

  /// Takes a message as one of a group, unless it has it, or has had it before an earlier hub died.
  mutating func receive(
    _ message: Message, of group: String, _ actions: inout [MemberAction]
  ) {
    advance(to: message.position)
    switch shares.begin(group, message) {
    case .isNew:
      horizon = max(horizon, message.position)
      // For others, if the hub dies.
      received.append(LogEntry(message: message))
      while received.trim() != nil {}
      actions.append(.share(group: group, message))
    case .isInHand: break
    case .isTaken:
      let shared = MemberFrame.Shared(group: group, key: message.key, isTaken: true)
      actions.append(.send(.taken(shared)))
    }
  }

  mutating func receive(_ losses: [Loss], _ actions: inout [MemberAction]) {
    for loss in losses {
      let isNew = loss.count == 0 ? loss.position > began : isNews(loss.number, of: loss.sender)
      if isNew { actions.append(.lost(loss)) }
    }
    advance(to: losses.map(\.position).max() ?? .none)
  }

  /// Whether a message is new; from now on it counts as received.
  private mutating func isNews(_ number: UInt64, of sender: MemberID) -> Bool {
    guard sender != id else { return false }
    return { (highest: inout UInt64) in
      guard number > highest else { return false }
      highest = number
      return true
    }(&heard[sender, default: 0])
  }

  /// Advances to a position in the order of the hub.
  ///
  /// While a member joins, it receives old messages, which are not in the order of their positions.
  /// With `open`, it has all messages up to its position again.
  mutating func advance(to position: Position) {
    guard isOpen, position > self.position else { return }
    self.position = position
    mustAcknowledge = true
  }

  mutating func sequenced(
    _ sender: MemberID, _ first: UInt64, _ count: UInt32, _ position: Position,
    _ actions: inout [MemberAction]
  ) {
    guard count > 0 else { return }
    var last = position
    last.sequence &+= UInt64(count) &- 1
    advance(to: last)
    if sender == id {
      outbox.sequenced(by: id, first, count, position)
      horizon = max(horizon, last)
      if isOpen && !isLeaving { outbox.send(after: horizon, &actions) }
    } else {
      // The others have received messages only now that this member had from an older hub.
      received.setPositions(ofSender: sender, first: first, count: count, from: position)
    }
  }

  mutating func welcome(_ busID: UInt64) {
    defer { self.busID = busID }
    guard self.busID != 0, self.busID != busID else { return }
    // Another bus: positions of the old one mean nothing there.
    position = .none
    stable = .none
    horizon = .none
    shares.forgetPositions()
    recoveries = []
    received.removeAll()
    outbox.forgetSequenced()
  }

  func collect(_ token: UInt64, _ since: Position, _ actions: inout [MemberAction]) {
    for entries in [outbox.entries(since: since), received.entries(since: since)] {
      for entry in entries { actions.append(.send(.collected(entry))) }
    }
    for shared in shares.all { actions.append(.send(.given(shared))) }
    let floor = max(outbox.floor, received.floor)
    actions.append(.send(.collectedAll(token: token, floor: floor)))
  }

  mutating func open(
    _ position: Position, _ ownNumber: UInt64, _ actions: inout [MemberAction]
  ) {
    stage = .open
    if self.position == .none { began = position }
    advance(to: position)
    mustAcknowledge = true
    outbox.open(ownNumber: ownNumber)
    actions.append(.opened)
    outbox.send(after: horizon, &actions)
  }
}
