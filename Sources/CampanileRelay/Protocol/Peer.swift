/// A member of the bus, as the other members see it.
struct Peer: Hashable, Sendable {
  var id: MemberID
  var name: String
  var processID: Int32

  /// A name has at most so many bytes: the hub sends those of all members in one frame.
  static let nameLimit = 1 << 10
}

extension Peer: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(
      id: try reader.read(), name: try reader.read(),
      processID: Int32(bitPattern: try reader.read()))
  }

  func write(to writer: inout FrameWriter) {
    writer.write(id, name, UInt32(bitPattern: processID))
  }
}
