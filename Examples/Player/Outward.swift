import Campanile
import CampanileKVO
import CampanileRelay
import Foundation

/// A track is being played.
struct TrackChanged: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "player.track"
  var title: String
  /// In seconds.
  var duration: Double
}

/// The player does something else now.
struct StateChanged: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "player.state"
  /// A word for people.
  var state: String
}

/// Carries what the player does to other processes of this host: `campanile listen 'player.>'`.
///
/// The player knows nothing of it. Its levels are messages already and are carried as they are; its
/// state and its track are made into messages here.
final class Outward: Sendable {
  private let relay: Relay

  init(_ player: Player, to bus: String) {
    relay = Relay(.host(bus), name: "player")
    // The decoding thread waits now and then until its levels have been heard, in other processes
    // too. Without a bus that would be for ever.
    relay.events.observe(owner: self) { outward, event in
      if event.kind == .unavailable { outward.relay.cancel() }
    }
    // Only outward: no other process tells this player how loud it is. A level is about a player,
    // which needs a name outside: the process is one.
    relay.carry(
      LevelChanged.self, in: player.center, .outward, name: { _ in "\(getpid())" },
      find: { _ in nil })
    relay.carry(TrackChanged.self, in: player.center, .outward)
    relay.carry(StateChanged.self, in: player.center, .outward)
    player.changes(of: \.track, .initial).observe(owner: self) {
      [center = player.center] _, change in
      guard let track = change.new ?? nil else { return }
      center.post(TrackChanged(title: track.title, duration: track.duration))
    }
    player.state.observe(owner: self, [.initial, .distinct]) { [center = player.center] _, change in
      center.post(StateChanged(state: change.new.word))
    }
  }

  /// Waits for the bus, so that who listens misses nothing, and gives up after two seconds.
  ///
  /// - Returns: Whether there is a bus.
  func connect() async -> Bool {
    let state = relay.state
    let limit = Task { [relay] in
      try await Task.sleep(for: .seconds(2))
      if state.value != .connected { relay.cancel() }
    }
    defer { limit.cancel() }
    for await change in state.values(.initial) {
      if change.new == .connected { return true }
      if change.new == .ended { break }
    }
    return false
  }

  /// Lets what was posted go, and leaves the bus.
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
