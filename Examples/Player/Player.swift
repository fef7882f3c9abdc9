import Campanile
import CampanileInspector
import CampanileKVO
import CampanileRelay
import Observation
import Synchronization

/// What is played.
struct Track: Sendable {
  var title: String
  /// In seconds.
  var duration: Double
}

/// How far the music has come.
struct Position: Sendable {
  var seconds = 0.0
  /// The part of the music that has been played, from 0 to 1.
  var fraction = 0.0
}

/// The music is now this loud.
///
/// Being a `RelayedMessage` it can be carried to other processes, under the name given here.
struct LevelChanged: RelayedMessage {
  typealias Subject = Player
  static let relaySubject: RelaySubject<Self> = "player.level"
  /// The loudest sample since the last message, from 0 to 1.
  var peak: Float
}

/// One player, whom many follow.
///
/// It knows nobody who follows it. What passes by, it posts through its center; its state is a
/// current value, whose changes everybody gets in one order; what it plays, and how far it is, are
/// properties, which anybody may observe by key path.
final class Player: SharedObservable {
  enum State: Equatable, Sendable {
    case ready, playing, paused
    /// Someone asked for the end.
    case stopping
    /// The music is over, or the file could not be read any further.
    case ended(WaveError?)
  }

  let center = MessageCenter(label: "player")
  let positionsSet = Tally("position")
  let levelsPosted = Tally("LevelChanged")
  let statesSent = Tally("state")

  private let currentState = CurrentValue(State.ready)

  /// What the player is doing, for others to follow; only the player sets it.
  var state: ReadOnlyState<State> { currentState.readOnly }

  /// The same for a trace.
  var changesOfState: some Traceable { currentState }

  /// Sees to it that `track` and `position` can be observed.
  private let registrar = KVORegistrar()
  private let currentTrack = Mutex<Track?>(nil)
  private let currentPosition = Mutex(Position())

  /// What is being played.
  ///
  /// A stored property of a class with the `@Observable` macro says by itself when it is read and
  /// when it changes. This one is behind a lock, since any thread may use it, and so it says so
  /// here.
  private(set) var track: Track? {
    get {
      registrar.access(self, keyPath: \.track)
      return currentTrack.withLock { $0 }
    }
    set {
      registrar.withMutation(of: self, keyPath: \.track) {
        currentTrack.withLock { $0 = newValue }
      }
    }
  }

  /// How far the music has come; the decoding thread sets it.
  var position: Position {
    get {
      registrar.access(self, keyPath: \.position)
      return currentPosition.withLock { $0 }
    }
    set {
      positionsSet.note()
      registrar.withMutation(of: self, keyPath: \.position) {
        currentPosition.withLock { $0 = newValue }
      }
    }
  }

  /// How often the position was set and a level was posted so far.
  var newsCount: Int { positionsSet.count + levelsPosted.count }

  func play(_ track: Track) {
    self.track = track
    change { $0 == .ready ? .playing : nil }
  }

  func togglePause() {
    change { state in
      switch state {
      case .playing: .paused
      case .paused: .playing
      default: nil
      }
    }
  }

  /// Asks the decoding thread to end, which says so by the state `ended`.
  func stop() {
    change { state in
      switch state {
      case .stopping, .ended: nil
      default: .stopping
      }
    }
  }

  func end(_ error: WaveError?) { change { _ in .ended(error) } }

  /// Waits for the end, and returns what ended the music too early, if anything did.
  func ending() async -> WaveError? {
    for await change in state.values(.initial) {
      if case .ended(let error) = change.new { return error }
    }
    return nil
  }

  func post(_ message: LevelChanged) {
    levelsPosted.note()
    center.post(message, about: self)
  }

  /// Posts `message` and returns when all who observe it have heard it, wherever they run.
  func postAndWait(_ message: LevelChanged) async throws {
    levelsPosted.note()
    try await center.postAndWait(message, about: self)
  }

  private func change(to next: (State) -> State?) {
    currentState.update { state in
      guard let new = next(state) else { return }
      state = new
      statesSent.note()
    }
  }
}
