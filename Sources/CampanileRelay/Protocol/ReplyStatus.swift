/// How a request ended.
enum ReplyStatus: UInt8, Hashable, Sendable {
  /// The payload is the reply.
  case ok = 0
  /// The answer failed; the payload says why.
  case failed = 1
  /// No member answers this subject.
  case nobody = 2
  /// The member that was asked left before it replied.
  case left = 3
}
