/// One connection of a hub, named by its transport.
struct ConnectionID: Hashable, Sendable {
  var rawValue: Int
}

/// An action for a hub's transport.
enum HubAction: Hashable, Sendable {
  /// Append the frame to the bytes of each connection. It is encoded once.
  case send([ConnectionID], HubFrame)
  /// Close the connection. The state has forgotten it: no `disconnected` follows.
  ///
  /// The reason is what the other end did wrong, if it did.
  case close(ConnectionID, reason: String?)
  /// The hub has recovered what the members of older generations know.
  case opened
}
