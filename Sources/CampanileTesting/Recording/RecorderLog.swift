import Campanile
import Synchronization

/// What a recorder has heard; what it observes with keeps this, and not the recorder.
final class RecorderLog<Value: Sendable>: Sendable {
  typealias Entry = Recorder<Value>.Entry

  /// Protected by the lock.
  private struct State {
    var entries: [Entry] = []
    /// How many of them expectations have taken.
    var takenCount = 0
    var known: [Delivery] = []
    /// What ended the sequence that is read, if it has ended.
    var end: Result<Void, any Error>?
  }

  private let state = Locked(State())
  /// How many entries there are.
  let recorded = Tally()
  /// 1 when the sequence that is read has ended.
  let ended = Tally()

  var entries: [Entry] { state.withLock { $0.entries } }
  var count: Int { state.withLock { $0.entries.count } }
  var takenCount: Int { state.withLock { $0.takenCount } }
  var end: Result<Void, any Error>? { state.withLock { $0.end } }

  func append(_ value: Value, actor: (any Actor)?) {
    // A target of a user's is asked outside the lock.
    let known = state.withLock { $0.known }
    let place = RecordedPlace.current(among: known, actor: actor)
    state.withLock { state in
      // Numbered here, so that the entries of one recorder stand in the order of their numbers.
      state.entries.append(Entry(value: value, place: place, order: RecordOrder.next()))
    }
    recorded.add()
  }

  func recognize(_ delivery: Delivery) {
    if !delivery.isImmediate { state.withLock { $0.known.append(delivery) } }
  }

  func finish(_ end: Result<Void, any Error>) {
    state.withLock { $0.end = end }
    ended.add()
  }

  /// Takes up to `count` of the entries that no expectation has taken.
  func take(_ count: Int) -> [Entry] {
    state.withLock { state in
      let taken = state.entries[state.takenCount...].prefix(count)
      state.takenCount += taken.count
      return Array(taken)
    }
  }
}

/// Numbers what recorders record.
private enum RecordOrder {
  private static let last = Atomic<UInt64>(0)
  static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
