/// The messages that a member has, according to its position.
extension HubState {
  /// The last position of older generations that this hub has recovered.
  var recovered: Position { recoveries[generation]?.last ?? Position.none }

  /// The first recovery that could have had a message of a position.
  func recovery(of position: Position) -> Recovery? {
    recoveries.values.filter { $0.generation > position.generation }.min {
      $0.generation < $1.generation
    }
  }

  /// The position from which on a member may have messages that others lack, or lack messages of others.
  ///
  /// It may be before the member's position, if others have continued without it, or were part of
  /// generations of which it knows nothing.
  func lowest(for member: HubMember) -> Position {
    let position = member.joinedAt
    var lowest = min(position, recovery(of: position)?.since ?? position)
    for other in recoveries.values where other.generation < position.generation {
      guard let next = member.recoveries.first(where: { $0.generation >= other.generation }),
        next.generation > other.generation, next.last.generation < other.generation,
        hasMessages(of: other.generation)
      else { continue }
      lowest = min(lowest, other.since, next.last)
    }
    return lowest
  }

  /// Whether somebody has been told of messages of a generation before.
  private func hasMessages(of other: UInt64) -> Bool {
    recoveries.values.contains { $0.last.generation == other }
      || members.contains { $0.joinedAt.generation == other && $0.joinedAt.sequence > 0 }
  }

  /// Whether a member has received a message before it joined, or the report of its loss.
  func covers(_ position: Position, _ member: HubMember) -> Bool {
    let joinedAt = member.joinedAt
    guard position.generation < joinedAt.generation else { return position <= joinedAt }
    let recoveries = [recovery(of: position), member.recovery(of: position)]
    return position <= recoveries.compactMap { $0?.last }.min() ?? joinedAt
  }

  /// Whether an open member may have heard the answer to a message that nobody but a late one knows.
  func isTooLate(_ position: Position) -> Bool {
    if position == .none { return false }
    return members.contains { member in
      guard member.stage == .open, !member.isNew else { return false }
      let recoveries = [
        recovery(of: position), member.recovery(of: position) ?? recoveries[generation],
      ]
      return recoveries.allSatisfy { recovery in recovery.map { position <= $0.last } ?? false }
    }
  }

  /// The generation in which a message was first sent, if that is known.
  ///
  /// A message that only its sender has is of the generation that its sender was part of.
  func origin(of message: Message) -> UInt64? {
    if message.position.generation < generation { return message.position.generation }
    return members.first { $0.peer.id == message.sender && $0.stage == .recovering }?
      .joinedAt.generation
  }

  /// Reports to a member that it can no longer get a message.
  mutating func reportMissed(_ message: Message, by place: Int, _ actions: inout [HubAction]) {
    var message = message
    message.payload = []
    message.path = []
    if message.position == .none { message.position = recovered }
    send(.missed(message), to: place, &actions)
  }
}
