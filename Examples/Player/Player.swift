import Campanile

/// The music has come this far.
struct PositionChanged: MessageCenter.Message {
  typealias Subject = Player
  var seconds: Double
  /// The part of the music that has been played, from 0 to 1.
  var fraction: Double
}

/// The music is now this loud.
struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  /// The loudest sample since the last message, from 0 to 1.
  var peak: Float
}

/// One player, whom many follow.
///
/// It knows nobody who follows it. What passes by, it posts through its center; what lasts, its
/// state, is a current value, so that a follower who comes late learns it at once.
final class Player: Sendable {
  enum State: Equatable, Sendable {
    case ready, playing, paused
    /// Someone asked for the end.
    case stopping
    /// The music is over, or the file could not be read any further.
    case ended(WaveError?)
  }

  let center = MessageCenter(label: "player")
  let positionsPosted = Tally("PositionChanged")
  let levelsPosted = Tally("LevelChanged")
  let statesSent = Tally("state")

  private let currentState = CurrentValue(State.ready)

  /// What the player is doing, for others to follow; only the player sets it.
  var state: some FollowableValue<State> { currentState }

  /// Everything posted so far.
  var postedCount: Int { positionsPosted.count + levelsPosted.count }

  func play() { change { $0 == .ready ? .playing : nil } }

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

  func post(_ message: PositionChanged) {
    positionsPosted.note()
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
