import Campanile

/// What a link has received, in order, until it is delivered.
///
/// The link stops reading when more than a megabyte waits, and reads on when half of it is delivered.
final class Inbox: Sendable {
  private struct State {
    var incidents = Queue<RelayIncident>()
    var size = 0
    /// How many have been appended, and how many of them taken.
    var (appended, taken) = (0, 0)
    var isScheduled = false
    var isPaused = false
    /// Whether something has been delivered since somebody asked.
    var hasGoneOn = false
    var isClosed = false
  }

  private let state = Locked(State())

  private static var limit: Int { 1 << 20 }

  /// - Returns: Whether these are the first, which somebody is to deliver, and whether the link is to
  ///   stop reading.
  func append(_ incidents: [RelayIncident]) -> (isFirst: Bool, pauses: Bool) {
    if incidents.isEmpty { return (false, false) }
    return state.withLock { state in
      if state.isClosed { return (false, false) }
      for incident in incidents {
        state.incidents.append(incident)
        state.size += incident.size
      }
      state.appended += incidents.count
      let pauses = state.size > Self.limit && !state.isPaused
      if pauses { state.isPaused = true }
      defer { state.isScheduled = true }
      return (!state.isScheduled, pauses)
    }
  }

  /// What is to be delivered next, and whether the link is to read on; nothing if who delivers is
  /// done.
  func next() -> (incident: RelayIncident, resumes: Bool)? {
    state.withLock { state in
      state.hasGoneOn = true
      guard let incident = state.incidents.popFirst() else {
        state.isScheduled = false
        return nil
      }
      state.taken += 1
      state.size -= incident.size
      let resumes = state.isPaused && state.size <= Self.limit / 2
      if resumes { state.isPaused = false }
      return (incident, resumes)
    }
  }

  /// Whether the link has been told to stop reading, and not to read on.
  var isPaused: Bool { state.withLock { $0.isPaused } }

  /// How many have been appended.
  var count: Int { state.withLock { $0.appended } }

  /// Whether some of the first `count` have not been taken, and will be.
  func isBehind(_ count: Int) -> Bool { state.withLock { !$0.isClosed && $0.taken < count } }

  /// Whether something has been delivered since this was asked the last time.
  func hasGoneOn() -> Bool {
    state.withLock { state in
      defer { state.hasGoneOn = false }
      return state.hasGoneOn
    }
  }

  /// Takes nothing more, and forgets what there is.
  func close() {
    // What the incidents hold goes outside the lock.
    let incidents = state.withLock { state -> Queue<RelayIncident> in
      state.isClosed = true
      defer { state.incidents = Queue() }
      return state.incidents
    }
    withExtendedLifetime(incidents) {}
  }
}

extension RelayIncident {
  /// How many bytes it takes in memory, about.
  fileprivate var size: Int {
    switch self {
    case .message(_, _, _, _, let payload), .request(_, _, _, _, let payload),
      .reply(_, _, let payload):
      payload.count + 128
    default: 64
    }
  }
}
