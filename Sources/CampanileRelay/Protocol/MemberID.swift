/// Identifies one relay on a bus, at random.
///
/// An identifier is used by one member for its life. A process that starts again has another one.
struct MemberID: Hashable, Sendable, Comparable {
  var rawValue: UInt64

  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension MemberID: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) { self.init(rawValue: try reader.read()) }
  func write(to writer: inout FrameWriter) { writer.write(rawValue) }
}
