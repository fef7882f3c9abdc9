/// What a member has, as its position says.
extension HubState {
  /// The last position of older generations that this hub has recovered.
  var recovered: Position { recoveries[generation]?.last ?? Position.none }

  /// The first recovery that could have had a message of a position.
  func recovery(of position: Position) -> Recovery? {
    recoveries.values.filter { $0.generation > position.generation }.min {
      $0.generation < $1.generation
    }
  }

  /// From where on a member at a position may have what others lack.
  ///
  /// That may be before its position, if others have gone on without it.
  func lowest(for position: Position) -> Position {
    min(position, recovery(of: position)?.since ?? position)
  }

  /// Whether a member that was at `joinedAt` has been told a message, or that it is lost.
  func covers(_ position: Position, _ joinedAt: Position) -> Bool {
    guard position.generation < joinedAt.generation else { return position <= joinedAt }
    return position <= recovery(of: position)?.last ?? joinedAt
  }

  /// Tells a member of messages that it cannot get any more.
  ///
  /// They were missing when its generation was recovered, and another member has them.
  mutating func reportMissed(
    _ merged: [Recovered], by place: Int, _ actions: inout [HubAction]
  ) {
    let member = members[place]
    guard member.floor == .none else { return }
    let had = Set(member.collected.map(\.message.key))
    for entry in merged {
      let message = entry.message
      guard message.position.generation < member.joinedAt.generation, message.position > since,
        covers(message.position, member.joinedAt), !had.contains(message.key),
        message.sender != member.peer.id, member.hears(message.subject)
      else { continue }
      var loss = Loss(message)
      loss.number = 0
      loss.position = .none
      send(.lost([loss]), to: place, &actions)
    }
  }
}
