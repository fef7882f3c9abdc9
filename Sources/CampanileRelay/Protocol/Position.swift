/// The place of a message in the order of a bus.
///
/// A hub gives each message the next position of its generation. Generations are never used twice,
/// so that a position belongs to one message.
struct Position: Hashable, Comparable, Sendable {
  var generation: UInt64
  var sequence: UInt64

  /// Before all messages: no hub is known to have sequenced this one.
  static let none = Position(generation: 0, sequence: 0)

  static func < (left: Self, right: Self) -> Bool {
    if left.generation != right.generation { return left.generation < right.generation }
    return left.sequence < right.sequence
  }
}

extension Position: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(generation: try reader.read(), sequence: try reader.read())
  }

  func write(to writer: inout FrameWriter) { writer.write(generation, sequence) }
}
