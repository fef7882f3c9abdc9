import Campanile

/// Tells the members that their hub is alive while its queue is busy.
///
/// It takes a hub time to put the logs of many members together. Members that hear nothing for so
/// long would take it for stopped, and the next hub would begin with the same work again.
final class HubPulse: Sendable {
  private struct State {
    var channels: [ConnectionID: SocketChannel] = [:]
    /// Whether the hub itself has told the members since the last beat, or has just begun.
    var hasTicked = true
    var hasEnded = false
  }

  private let state = Locked(State())

  func add(_ channel: SocketChannel, _ id: ConnectionID) {
    state.withLock { if !$0.hasEnded { $0.channels[id] = channel } }
  }

  func remove(_ id: ConnectionID) {
    _ = state.withLock { $0.channels.removeValue(forKey: id) }
  }

  /// Releases all channels, and takes no more.
  func end() {
    state.withLock { ($0.channels, $0.hasEnded) = ([:], true) }
  }

  /// The hub tells the members itself.
  func tick() { state.withLock { $0.hasTicked = true } }

  /// Call it each tenth of a second, from another queue than the hub's.
  ///
  /// - Parameter isOver: Whether there is another hub. The members are sent there at once.
  func beat(unless isOver: () -> Bool) {
    let channels = state.withLock { state -> [SocketChannel] in
      defer { state.hasTicked = false }
      return state.hasTicked ? [] : Array(state.channels.values)
    }
    if channels.isEmpty { return }
    if isOver() {
      for channel in channels { channel.shutDown() }
      return end()
    }
    var ping: [UInt8] = []
    HubFrame.ping(.none).append(to: &ping)
    for channel in channels { channel.beat(ping) }
  }
}
