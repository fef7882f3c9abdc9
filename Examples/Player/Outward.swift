import Campanile
import CampanileKVO
import CampanileRelay
import Foundation

/// A track has started.
struct TrackChanged: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "player.track"
  var title: String
  /// The duration in seconds.
  var duration: Double
}

/// The state of the player has changed.
struct StateChanged: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "player.state"
  /// The state as a word for people.
  var state: String
}

/// Sends what the player does to other processes of this host.
///
/// To see it, run `campanile listen 'player.>'`.
///
/// The player does not know about this class. Its levels are messages already, and are carried
/// unchanged. Changes of its state and its track are turned into messages here.
final class Outward: Sendable {
  private let relay: Relay

  init(_ player: Player, to bus: String) {
    relay = Relay(.host(bus), name: "player")
    // At intervals, the decoding thread waits until all observers have received its levels, also in
    // other processes. Without a bus, it would wait forever.
    relay.events.observe(owner: self) { outward, event in
      if event.kind == .unavailable { outward.relay.cancel() }
    }
    // Outward only: no other process posts levels of this player. The subject of a level is a
    // player, which needs a name outside. The number of the process is that name.
    relay.carry(
      LevelChanged.self, in: player.center, .outward, name: { _ in "\(getpid())" },
      find: { _ in nil })
    relay.carry(TrackChanged.self, in: player.center, .outward)
    relay.carry(StateChanged.self, in: player.center, .outward)
    player.changes(of: \.track, options: .initial).observe(owner: self) {
      [center = player.center] _, change in
      guard let track = change.new ?? nil else { return }
      center.post(TrackChanged(title: track.title, duration: track.duration))
    }
    player.state.observe(owner: self, options: [.initial, .distinct]) {
      [center = player.center] _, state in
      center.post(StateChanged(state: state.word))
    }
  }

  /// Waits for the bus, so that listeners miss nothing.
  ///
  /// Gives up after two seconds.
  ///
  /// - Returns: Whether there is a bus.
  func connect() async -> Bool {
    let state = relay.state
    let limit = Task { [relay] in
      try await Task.sleep(for: .seconds(2))
      if state.value != .connected { relay.cancel() }
    }
    defer { limit.cancel() }
    for await state in state.values(options: .initial) {
      if state == .connected { return true }
      if state == .ended { break }
    }
    return false
  }

  /// Sends what has been posted, and leaves the bus.
  func finish() async { await relay.drain() }
}

extension Player.State {
  fileprivate var word: String {
    switch self {
    case .ready: "ready"
    case .playing: "playing"
    case .paused: "paused"
    case .stopping: "stopping"
    case .ended: "ended"
    }
  }
}
