import Campanile
import Synchronization

/// The incidents that a link has received, in order, until they are delivered.
///
/// The link stops reading when more than a megabyte waits, and reads on when half of it is delivered.
final class Inbox: Sendable {
  private struct Batch {
    var incidents: [RelayIncident]
    var size: Int
  }

  private struct State {
    var batches = Queue<Batch>()
    var size = 0
    var isScheduled = false
    var isPaused = false
  }

  private let state = Locked(State())
  /// Whether something has been delivered since the last question.
  private let hasGoneOnFlag = Atomic<Bool>(false)
  private let isClosed = Atomic<Bool>(false)

  private static var limit: Int { 1 << 20 }

  /// - Returns: Whether these are the first, for which a delivery must begin, and whether the link
  ///   is to stop reading.
  func append(_ incidents: consuming [RelayIncident]) -> (isFirst: Bool, pauses: Bool) {
    if incidents.isEmpty { return (false, false) }
    let size = incidents.reduce(0) { $0 + $1.size }
    // Moved: who delivers takes the incidents out of the array, which would be copied if anybody else
    // had it.
    var batch: Batch? = Batch(incidents: incidents, size: size)
    return state.withLock { state in
      if isClosed.load(ordering: .relaxed) { return (false, false) }
      state.batches.append(batch.take()!)
      state.size += size
      let pauses = state.size > Self.limit && !state.isPaused
      if pauses { state.isPaused = true }
      defer { state.isScheduled = true }
      return (!state.isScheduled, pauses)
    }
  }

  /// The incidents to deliver next, each after ``mayDeliver()``, and whether the link is to read on;
  /// `nil` if the delivering code is done.
  func next() -> (incidents: [RelayIncident], resumes: Bool)? {
    state.withLock { state in
      guard let batch = state.batches.popFirst() else {
        state.isScheduled = false
        return nil
      }
      state.size -= batch.size
      let resumes = state.isPaused && state.size <= Self.limit / 2
      if resumes { state.isPaused = false }
      return (batch.incidents, resumes)
    }
  }

  /// Whether the next one may be delivered.
  func mayDeliver() -> Bool {
    // Alone, and asked now and then: nothing else depends on it.
    hasGoneOnFlag.store(true, ordering: .relaxed)
    return !isClosed.load(ordering: .acquiring)
  }

  /// Whether the link was asked to stop reading, and not to continue.
  var isPaused: Bool { state.withLock { $0.isPaused } }

  /// About how many bytes wait.
  var size: Int { state.withLock { $0.size } }

  /// Whether something has been delivered since this was asked the last time.
  func hasGoneOn() -> Bool { hasGoneOnFlag.exchange(false, ordering: .relaxed) }

  /// Takes nothing more, and forgets what there is.
  func close() {
    // The objects of the incidents are released outside the lock.
    let batches = state.withLock { state -> Queue<Batch> in
      isClosed.store(true, ordering: .releasing)
      defer { state.batches = Queue() }
      return state.batches
    }
    withExtendedLifetime(batches) {}
  }
}

extension RelayIncident {
  /// How many bytes it takes in memory, about.
  fileprivate var size: Int {
    switch self {
    case .message(_, let subject, _, let path, let payload):
      payload.count + subject.utf8.count + 8 * path.count + 128
    case .awaited(_, _, let subject, _, let path, let payload, _):
      payload.count + subject.utf8.count + 8 * path.count + 256
    case .request(_, _, let subject, _, let payload): payload.count + subject.utf8.count + 128
    case .reply(_, _, let payload): payload.count + 128
    case .peers(let peers): 64 * (peers.count + 1)
    case .sender(let peer): peer.name.utf8.count + 128
    case .lost(_, let subject, _, let reason), .denied(let subject, let reason):
      (subject?.utf8.count ?? 0) + reason.utf8.count + 128
    case .refused(let subject, let reason): subject.utf8.count + reason.utf8.count + 128
    default: 64
    }
  }
}
