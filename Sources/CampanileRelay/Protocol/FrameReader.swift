/// Reads the fields of one frame, and never beyond its end.
struct FrameReader {
  private let bytes: [UInt8]
  private var offset: Int
  private let end: Int

  init(_ bytes: [UInt8], from offset: Int, to end: Int) {
    self.bytes = bytes
    self.offset = offset
    self.end = end
  }

  private var remaining: Int { end - offset }

  /// Throws if bytes are left after the last field.
  func finish() throws(FrameError) {
    guard offset == end else {
      throw FrameError("A frame has \(remaining) bytes after its last field.")
    }
  }

  private func require(_ count: Int) throws(FrameError) {
    guard count <= remaining else {
      throw FrameError("A frame ends before a field of \(count) bytes; it has \(remaining) left.")
    }
  }

  mutating func read<Value: WireValue>() throws(FrameError) -> Value { try Value(from: &self) }

  @inline(__always)
  mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(
    _: Value.Type = Value.self
  ) throws(FrameError) -> Value {
    let size = Value.bitWidth / 8
    try require(size)
    var value: Value = 0
    for index in 0..<size {
      let byte = Value(truncatingIfNeeded: bytes[offset + index])
      value |= byte &<< Value(truncatingIfNeeded: 8 * index)
    }
    offset += size
    return value
  }

  /// Bytes whose number is before them.
  mutating func slice() throws(FrameError) -> ArraySlice<UInt8> {
    let count = Int(try integer(UInt32.self))
    try require(count)
    defer { offset += count }
    return bytes[offset..<offset + count]
  }
}
