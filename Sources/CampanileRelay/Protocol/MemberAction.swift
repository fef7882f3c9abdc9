/// What a member's transport has to do.
enum MemberAction: Hashable, Sendable {
  case send(MemberFrame)
  /// A message of another member, once and in order.
  case deliver(Message)
  /// Messages of others that this member does not get.
  case lost(Loss)
  /// An own message was forgotten before a hub had it: too much waited.
  case dropped(number: UInt64, subject: String)
  case opened
  case closed
  /// The hub of a generation is silent: join a later one, if any has been claimed.
  ///
  /// If none has, and `claims`: close the connection, and claim the next generation.
  case silent(after: UInt64, claims: Bool)
  case peers([Peer], hub: MemberID)
  /// All members that are present have what was posted before `flush`.
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
