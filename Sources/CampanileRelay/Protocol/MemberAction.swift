/// An action for a member's transport.
enum MemberAction: Hashable, Sendable {
  case send(MemberFrame)
  /// A message of another member, once and in order.
  case deliver(Message)
  /// Messages of other members that this member does not get.
  case lost(Loss)
  /// A message of this member was dropped from a full log before a hub had it.
  case dropped(number: UInt64, subject: String)
  case opened
  case closed
  /// The hub of a generation is silent: join a later one, if any has been claimed.
  ///
  /// If none has, and `claims`: close the connection, and claim the next generation.
  case silent(after: UInt64, claims: Bool)
  case peers([Peer], hub: MemberID)
  /// All members that are present have the messages posted before `flush`.
  case flushed(token: UInt64)
  /// Another member asks; answer with `reply`.
  case requested(Request)
  case replied(correlation: UInt64, status: ReplyStatus, payload: [UInt8])
  case requestFailed(correlation: UInt64, RequestFailure)
}

/// Why a request got no reply.
enum RequestFailure: Hashable, Sendable {
  case timedOut
  /// The hub died or fell silent. The request may have been answered.
  case disconnected
}
