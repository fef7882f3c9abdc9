/// The messages that the hub of a generation recovered before it opened.
///
/// A member at a position of this generation has the recovered messages, and no others of older
/// generations. It cannot have messages that a late member provided afterwards.
struct Recovery: Hashable, Sendable {
  var generation: UInt64
  /// All members that took part had everything up to here.
  var since: Position
  /// The last position of older generations that was recovered.
  ///
  /// A message at or before it that only a late member has is too late, because others may have
  /// heard its answer.
  var last: Position
}

extension Recovery: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(generation: try reader.read(), since: try reader.read(), last: try reader.read())
  }

  func write(to writer: inout FrameWriter) { writer.write(generation, since, last) }
}
