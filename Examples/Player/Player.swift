import Campanile
import CampanileInspector
import CampanileKVO
import CampanileRelay
import Observation
import Synchronization

/// The track that is played.
struct Track: Sendable {
  var title: String
  /// The duration in seconds.
  var duration: Double
}

/// The playback position.
struct Position: Sendable {
  var seconds = 0.0
  /// The played part of the music, from 0 to 1.
  var fraction = 0.0
}

/// The current loudness of the music.
///
/// It conforms to `RelayedMessage`, so it can be carried to other processes, under the name given
/// here.
struct LevelChanged: RelayedMessage {
  typealias Subject = Player
  static let relaySubject: RelaySubject<Self> = "player.level"
  /// The loudest sample since the last message, from 0 to 1.
  var peak: Float
}

/// One player with many observers.
///
/// It does not know its observers. It posts passing events, such as levels, through its center. Its
/// state is a current value, whose changes all observers receive in the same order. Its track and
/// its position are properties, which can be observed by key path.
final class Player: SharedObservable {
  enum State: Equatable, Sendable {
    case ready, playing, paused
    /// The player has been asked to stop.
    case stopping
    /// The music has ended, or the file could not be read further.
    case ended(WaveError?)
  }

  let center = MessageCenter(label: "player")
  /// The samples, block by block, with the channels of a frame adjacent.
  ///
  /// While nobody observes them, sending them costs almost nothing.
  let samples = Broadcaster<[Float]>()
  let positionsSet = Tally("position", counts: "one for each block of samples")
  let levelsPosted = Tally("LevelChanged", counts: "one for each block of samples")
  let statesSent = Tally("state", counts: "the start, the end, and pauses")

  private let currentState = CurrentValue(State.ready)

  /// The state of the player.
  ///
  /// Others can observe it, but only the player sets it.
  var state: ReadOnlyState<State> { currentState.readOnly }

  /// The state, for a trace.
  var changesOfState: some Traceable { currentState }

  /// Makes `track` and `position` observable.
  private let registrar = KVORegistrar()
  private let currentTrack = Mutex<Track?>(nil)
  private let currentPosition = Mutex(Position())

  /// The current track.
  ///
  /// In a class with the `@Observable` macro, a stored property reports its reads and changes. This
  /// property is behind a lock, since any thread may use it. So its accessors read and set it
  /// through the registrar, which takes the lock and reports what it found there.
  private(set) var track: Track? {
    get { registrar.get(self, \.track, in: currentTrack) }
    set { registrar.set(self, \.track, in: currentTrack, to: newValue) }
  }

  /// The playback position.
  ///
  /// The decoding thread sets it.
  var position: Position {
    get { registrar.get(self, \.position, in: currentPosition) }
    set {
      positionsSet.note()
      registrar.set(self, \.position, in: currentPosition, to: newValue)
    }
  }

  /// The number of positions that were set and levels that were posted.
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

  /// Asks the decoding thread to stop.
  ///
  /// It then sets the state `ended`.
  func stop() {
    change { state in
      switch state {
      case .stopping, .ended: nil
      default: .stopping
      }
    }
  }

  func end(_ error: WaveError?) { change { _ in .ended(error) } }

  /// Waits for the end.
  ///
  /// Returns the error that ended the music early, if there was one.
  func ending() async -> WaveError? {
    for await state in state.values(options: .initial) {
      if case .ended(let error) = state { return error }
    }
    return nil
  }

  func post(_ message: LevelChanged) {
    levelsPosted.note()
    center.post(message, about: self)
  }

  /// Posts `message`, and returns when all observers have received it, wherever they run.
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
