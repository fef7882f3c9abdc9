/// Messages that a member does not get.
struct Loss: Hashable, Sendable {
  var sender: MemberID
  var subject: String
  /// How many, or 0 if this is not known.
  ///
  /// Then sender and subject are not known either.
  var count: UInt64
  /// The number of the last one.
  ///
  /// A member that has received a higher number of the sender has not lost these messages.
  var number: UInt64
  /// The position of the last one.
  var position: Position

  /// Messages before a position have been forgotten without a trace.
  static func unknown(before position: Position) -> Self {
    Self(sender: MemberID(rawValue: 0), subject: "", count: 0, number: 0, position: position)
  }
}

extension Loss: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(
      sender: try reader.read(), subject: try reader.read(), count: try reader.read(),
      number: try reader.read(), position: try reader.read())
  }

  func write(to writer: inout FrameWriter) {
    writer.write(sender, subject, count, number, position)
  }
}
