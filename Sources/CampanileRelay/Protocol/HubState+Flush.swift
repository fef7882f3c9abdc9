extension HubState {
  /// A member waits until the others have received what was sequenced before.
  struct Flush {
    var connection: ConnectionID
    var token: UInt64
    /// The positions that must be acknowledged, by connection.
    var awaited: [ConnectionID: Position]
    /// The connections on which replies must be written.
    var replies: Set<ConnectionID> = []
    var ticks = 0

    var isOver: Bool { awaited.isEmpty && replies.isEmpty }
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
    var flush = Flush(connection: members[place].connection, token: token, awaited: awaited)
    if members[place].peer.id == own {
      // The hub may end after its own member's flush, and replies that are not written end with it.
      for member in members where member.isPresent && member.hasUnwrittenReply {
        flush.replies.insert(member.connection)
      }
    }
    flushes.append(flush)
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

  /// All that was sent to a member has been written.
  mutating func noteWritten(_ place: Int, _ actions: inout [HubAction]) {
    guard members[place].hasUnwrittenReply else { return }
    members[place].hasUnwrittenReply = false
    for index in flushes.indices { flushes[index].replies.remove(members[place].connection) }
    endFlushes(&actions)
  }

  /// A tenth of a second has passed.
  mutating func tickFlushes(_ actions: inout [HubAction]) {
    for index in flushes.indices {
      flushes[index].awaited = flushes[index].awaited.filter { connection, _ in
        places[connection].map { members[$0].isPresent } ?? false
      }
      flushes[index].ticks += 1
      // To a member that gets ever more, all is never written.
      if flushes[index].ticks >= silenceLimit { flushes[index].replies = [] }
    }
    endFlushes(&actions)
  }

  mutating func endFlushes(_ actions: inout [HubAction]) {
    for flush in flushes where flush.isOver {
      guard let place = places[flush.connection] else { continue }
      endRun(of: place, &actions)
      send(.flushed(token: flush.token), to: place, &actions)
    }
    flushes.removeAll(where: \.isOver)
  }
}
