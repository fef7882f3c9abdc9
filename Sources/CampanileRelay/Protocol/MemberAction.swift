/// An action for a member's transport.
enum MemberAction: Hashable, Sendable {
  case send(MemberFrame)
  /// A message of another member, once and in order.
  case deliver(Message)
  /// A message of another member, which this one takes as one of a group; then call `taken`.
  case share(group: String, Message)
  /// So many messages of this member had no receiver.
  case unheard(Int)
  /// Messages of other members that this member does not get.
  case lost(Loss)
  /// A message of this member was dropped from a full log before a hub had it.
  case dropped(number: UInt64, subject: String)
  case opened
  case closed
  /// The hub of a generation is silent: join a later one, or close the connection and claim the next.
  case silent(after: UInt64)
  case peers([Peer], hub: MemberID)
  /// All members that are present have the messages posted before `flush`.
  case flushed(token: UInt64)
  /// Another member asks; answer with `reply`.
  case requested(Request)
  /// A request has ended.
  case replied(correlation: UInt64, status: AnswerStatus, payload: [UInt8])
}
