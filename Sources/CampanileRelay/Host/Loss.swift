/// Messages that a member does not get.
struct Loss: Hashable, Sendable {
  var sender: MemberID
  var subject: String
  /// How many, or 0 if this is not known.
  ///
  /// Then sender and subject are not known either.
  var count: UInt64
  /// The number of the last one, or 0 if the member is told in any case.
  ///
  /// A member that has heard a higher number of the sender has not lost these messages.
  var number: UInt64
  /// The position of the last one.
  var position: Position

  /// Messages before a position have been forgotten without a trace.
  static func unknown(before position: Position) -> Self {
    Self(sender: MemberID(rawValue: 0), subject: "", count: 0, number: 0, position: position)
  }
}
