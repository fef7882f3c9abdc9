/// A member of the bus, as the other members see it.
struct Peer: Hashable, Sendable {
  var id: MemberID
  var name: String
  var processID: Int32
}
