/// A member of the bus, as the other members see it.
struct Peer: Hashable, Sendable {
  var id: MemberID
  var name: String
  var processID: Int32

  /// A name has at most so many bytes: the hub sends those of all members in one frame.
  static let nameLimit = 1 << 10
}
