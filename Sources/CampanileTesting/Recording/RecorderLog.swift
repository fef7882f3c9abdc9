import Campanile
import Synchronization

/// The recorded values of a recorder.
///
/// The observation keeps this, and not the recorder.
final class RecorderLog<Value: Sendable>: Sendable {
  typealias Entry = Recorder<Value>.Entry

  /// Protected by the lock.
  private struct State {
    var entries: [Entry] = []
    /// The number of entries that expectations have taken.
    var takenCount = 0
    var known: [Delivery] = []
    /// How the sequence that is read has ended, if it has.
    var end: Result<Void, any Error>?
  }

  private let state = Locked(State())
  /// The number of entries.
  let recorded = Tally()
  /// 1 once the sequence that is read has ended.
  let ended = Tally()

  var entries: [Entry] { state.withLock { $0.entries } }
  var count: Int { state.withLock { $0.entries.count } }
  var takenCount: Int { state.withLock { $0.takenCount } }
  var end: Result<Void, any Error>? { state.withLock { $0.end } }

  /// - Parameters:
  ///   - actor: The actor that the calling code is isolated to.
  ///   - delivery: The delivery that calls the recorder's observer.
  func append(
    _ value: Value, actor: (any Actor)? = nil, deliveredBy delivery: Delivery = .immediate
  ) {
    // Called outside the lock, since a target may be a user's.
    let known = state.withLock { $0.known }
    let place = RecordedPlace.current(
      among: known, actor: actor, observingOn: delivery.mailbox)
    state.withLock { state in
      // Numbered under the lock, so that the entries of one recorder are in the order of their
      // numbers.
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

  /// Takes up to `count` entries that no expectation has taken.
  func take(_ count: Int) -> [Entry] {
    state.withLock { state in
      let taken = state.entries[state.takenCount...].prefix(count)
      state.takenCount += taken.count
      return Array(taken)
    }
  }
}

/// Numbers the entries of all recorders.
private enum RecordOrder {
  private static let last = Atomic<UInt64>(0)
  static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
