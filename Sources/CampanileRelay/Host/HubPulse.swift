import Campanile
import Dispatch

/// Tells the members that their hub is alive while its queue is busy.
///
/// Merging the logs of many members takes a hub so long that members which receive nothing
/// meanwhile would take it for stopped, and the next hub would begin with the same work again.
final class HubPulse: Sendable {
  private struct State {
    var channels: [ConnectionID: SocketChannel] = [:]
    /// How many beats there were since the hub itself has sent the members anything.
    var beats = 0
  }

  private let state = Locked(State())
  private let ticks = Ticks(on: DispatchQueue(label: "campanile.relay.pulse"))

  func start() { ticks.start { [weak self] in self?.beat() } }

  /// Whether the hub is to tell the members anything.
  func set(_ isNeeded: Bool) {
    if ticks.set(isNeeded) { tick() }
  }

  func add(_ channel: SocketChannel, _ id: ConnectionID) {
    state.withLock { $0.channels[id] = channel }
  }

  func remove(_ id: ConnectionID) {
    _ = state.withLock { $0.channels.removeValue(forKey: id) }
  }

  func end() {
    ticks.end()
    state.withLock { $0.channels = [:] }
  }

  /// The hub tells the members itself.
  func tick() { state.withLock { $0.beats = 0 } }

  /// Tells the members that the hub is alive, if it has not done so for a tenth of a second.
  func beat() {
    let channels = state.withLock { state -> [SocketChannel] in
      state.beats += 1
      // The first beat may follow a tick of the hub at once.
      return state.beats < 2 ? [] : Array(state.channels.values)
    }
    var ping: [UInt8] = []
    HubFrame.ping(.none).append(to: &ping)
    for channel in channels { channel.beat(ping) }
  }
}
