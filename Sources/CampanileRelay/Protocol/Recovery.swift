/// What the hub of a generation recovered before it opened.
///
/// A member at a position of this generation has what was recovered, and nothing else of older
/// generations. It cannot have what came to light later, from a member that was late.
struct Recovery: Hashable, Sendable {
  var generation: UInt64
  /// All who took part had everything up to here.
  var since: Position
  /// The last position of older generations that was recovered.
  ///
  /// What only a late member has at or before it comes too late: others may have heard its answer.
  var last: Position
}

extension FrameWriter {
  mutating func recovery(_ value: Recovery) {
    integer(value.generation)
    position(value.since)
    position(value.last)
  }
}

extension FrameReader {
  mutating func recovery() throws(FrameError) -> Recovery {
    Recovery(generation: try integer(), since: try position(), last: try position())
  }
}
