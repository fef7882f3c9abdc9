import Campanile

/// What a link has received, in order, until it is delivered.
///
/// The link stops reading while more than a megabyte waits.
final class Inbox: Sendable {
  private struct State {
    var incidents: [RelayIncident] = []
    var size = 0
    var isScheduled = false
    var isPaused = false
    var isClosed = false
  }

  private let state = Locked(State())

  private static var limit: Int { 1 << 20 }

  /// - Returns: Whether it is the first, which somebody is to deliver, and whether the link is to
  ///   stop reading.
  func append(_ incident: RelayIncident) -> (isFirst: Bool, pauses: Bool) {
    state.withLock { state in
      if state.isClosed { return (false, false) }
      state.incidents.append(incident)
      state.size += incident.size
      let pauses = state.size > Self.limit && !state.isPaused
      if pauses { state.isPaused = true }
      defer { state.isScheduled = true }
      return (!state.isScheduled, pauses)
    }
  }

  /// What is to be delivered, and whether the link is to read on; nothing if who delivers is done.
  func takeAll() -> (incidents: [RelayIncident], resumes: Bool) {
    state.withLock { state in
      defer { (state.incidents, state.size, state.isPaused) = ([], 0, false) }
      if state.incidents.isEmpty { state.isScheduled = false }
      return (state.incidents, state.isPaused)
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Takes nothing more, and forgets what there is.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.incidents = []
    }
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
