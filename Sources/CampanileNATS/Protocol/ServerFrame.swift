#if NATS
  /// A frame that a server sends.
  enum ServerFrame: Hashable, Sendable {
    // In a box, so that a frame is short.
    indirect case info(ServerInfo)
    /// Messages that arrived together, in their order.
    case messages([ServerMessage])
    case ping
    case pong
    case ok
    case error(String)
  }

  /// A message as a server delivers it.
  struct ServerMessage: Hashable, Sendable {
    var subject: String
    /// The number of the subscription.
    var sid: UInt64
    /// Where an answer is to be sent.
    var reply: String?
    var headers: HeaderBlock
    var payload: [UInt8]
  }

  /// A violation of the NATS protocol.
  struct ProtocolError: Error, Hashable, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
#endif
