/// The messages that a member has, according to its position.
extension HubState {
  /// The last position of older generations that this hub has recovered.
  var recovered: Position { recoveries[generation]?.last ?? Position.none }

  /// Every member that the hub knows of has what it subscribes to up to here, also those that are
  /// missing.
  var stable: Position {
    if !isOpen { return .none }
    let positions = members.compactMap { member -> Position? in
      switch member.stage {
      case .open: member.acknowledged
      case .late: lowest(for: member.joinedAt)
      case .greeting, .joining, .recovering: nil
      }
    }
    return min(missing.isEmpty ? last : stableBefore, positions.min() ?? last)
  }

  /// The first recovery that could have had a message of a position.
  func recovery(of position: Position) -> Recovery? {
    recoveries.values.filter { $0.generation > position.generation }.min {
      $0.generation < $1.generation
    }
  }

  /// The position from which on a member at a given position may have messages that others lack.
  ///
  /// It may be before the member's position, if others have continued without it.
  func lowest(for position: Position) -> Position {
    min(position, recovery(of: position)?.since ?? position)
  }

  /// Whether a member that was at `joinedAt` has received a message, or the report of its loss.
  func covers(_ position: Position, _ joinedAt: Position) -> Bool {
    guard position.generation < joinedAt.generation else { return position <= joinedAt }
    return position <= recovery(of: position)?.last ?? joinedAt
  }
}
