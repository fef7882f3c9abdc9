/// A question to the members that answer a subject.
struct Request: Hashable, Sendable {
  /// Identifies the request among the requests of the member that asks.
  var correlation: UInt64
  /// The member that asks.
  var from: MemberID
  var subject: String
  var version: UInt32
  var payload: [UInt8]
}
