/// Turns bytes into frames, however the bytes are split.
///
/// A byte is copied once when it is appended and at most once more when the read frames are removed.
struct FrameParser<Frame: WireFrame> {
  private var bytes: [UInt8] = []
  /// Where the next frame begins.
  private var offset = 0

  /// Appends bytes that have been read.
  mutating func append(_ new: some Collection<UInt8>) {
    if offset > 0, offset * 2 >= bytes.count {
      // As many bytes are removed as are moved at most.
      bytes.removeFirst(offset)
      offset = 0
    }
    bytes.append(contentsOf: new)
  }

  /// Returns the next frame, or nil if its bytes are not complete.
  ///
  /// - Throws: The bytes are not a frame. Nothing can be read after them.
  mutating func next() throws(FrameError) -> Frame? {
    guard bytes.count - offset >= 4 else { return nil }
    var length = 0
    for index in 0..<4 { length |= Int(bytes[offset + index]) << (8 * index) }
    guard length <= frameLimit else {
      throw FrameError("A frame has \(length) bytes; at most \(frameLimit) are allowed.")
    }
    guard length >= 1 else { throw FrameError("A frame has no type.") }
    guard bytes.count - offset - 4 >= length else { return nil }
    let start = offset + 5
    let end = offset + 4 + length
    var reader = FrameReader(bytes, from: start, to: end)
    let frame = try Frame.read(type: bytes[offset + 4], &reader)
    try reader.finish()
    offset = end
    return frame
  }
}
