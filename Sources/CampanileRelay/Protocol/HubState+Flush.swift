extension HubState {
  /// A member waits until the others have received what was sequenced before.
  struct Flush {
    var connection: ConnectionID
    var token: UInt64
    /// The positions that must be acknowledged, by connection.
    var awaited: [ConnectionID: Position]
  }

  mutating func flush(_ token: UInt64, from place: Int, _ actions: inout [HubAction]) {
    var awaited: [ConnectionID: Position] = [:]
    for member in members where member.isPresent {
      guard member.connection != members[place].connection else { continue }
      switch member.stage {
      case .open:
        if member.acknowledged < member.sent { awaited[member.connection] = member.sent }
      // It runs again, and gets what it has missed when it is open.
      case .late: awaited[member.connection] = last
      case .greeting, .joining, .recovering: break
      }
    }
    flushes.append(
      Flush(connection: members[place].connection, token: token, awaited: awaited))
    endFlushes(&actions)
  }

  mutating func acknowledged(
    _ position: Position, by place: Int, _ actions: inout [HubAction]
  ) {
    guard members[place].stage == .open else { return }
    members[place].acknowledged = max(members[place].acknowledged, position)
    guard !flushes.isEmpty else { return }
    let connection = members[place].connection
    for index in flushes.indices {
      guard let awaited = flushes[index].awaited[connection], awaited <= position else { continue }
      flushes[index].awaited[connection] = nil
    }
    endFlushes(&actions)
  }

  mutating func endFlushes(_ actions: inout [HubAction]) {
    for flush in flushes where flush.awaited.isEmpty {
      guard let place = places[flush.connection] else { continue }
      endRun(of: place, &actions)
      send(.flushed(token: flush.token), to: place, &actions)
    }
    flushes.removeAll { $0.awaited.isEmpty }
  }
}
