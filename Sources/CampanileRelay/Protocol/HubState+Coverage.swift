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

  /// The generation in which a message was first sent, if that is known.
  ///
  /// A message that only its sender has is of the generation that its sender was part of.
  func origin(of message: Message) -> UInt64? {
    if message.position.generation < generation { return message.position.generation }
    return members.first { $0.peer.id == message.sender && $0.stage == .recovering }?
      .joinedAt.generation
  }

  /// Tells a member that it cannot get a message any more.
  mutating func reportMissed(_ message: Message, by place: Int, _ actions: inout [HubAction]) {
    var message = message
    message.payload = []
    message.path = []
    if message.position == .none { message.position = recovered }
    send(.missed(message), to: place, &actions)
  }
}
