/// Identifies one relay on a bus, at random.
///
/// An identifier is used by one member for its life. A process that starts again has another one.
struct MemberID: Hashable, Sendable, Comparable {
  var rawValue: UInt64

  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
