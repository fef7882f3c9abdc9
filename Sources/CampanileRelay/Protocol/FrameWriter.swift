/// Appends the fields of a frame to bytes: integers little-endian, the rest preceded by its length.
struct FrameWriter {
  private var bytes: [UInt8] = []
  private var start = 0

  /// Takes bytes, and begins a frame at their end: room for its length, then its type.
  ///
  /// The bytes are swapped and not passed on, so that there is never a second owner and no copy.
  mutating func begin(_ type: UInt8, in bytes: inout [UInt8]) {
    swap(&self.bytes, &bytes)
    start = self.bytes.count
    integer(0 as UInt32)
    integer(type)
  }

  /// Returns the bytes through `bytes`, with the length of the frame filled in.
  mutating func end(_ bytes: inout [UInt8]) {
    let length = UInt32(self.bytes.count - start - 4)
    for index in 0..<4 {
      self.bytes[start + index] = UInt8(truncatingIfNeeded: length &>> UInt32(8 * index))
    }
    swap(&self.bytes, &bytes)
  }

  @inline(__always)
  mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) {
    for index in 0..<Value.bitWidth / 8 {
      bytes.append(UInt8(truncatingIfNeeded: value &>> Value(truncatingIfNeeded: 8 * index)))
    }
  }

  /// Appends bytes, and before them how many they are.
  mutating func bytes(_ value: some Collection<UInt8>) {
    integer(UInt32(value.count))
    bytes.append(contentsOf: value)
  }

  @inline(__always)
  mutating func write<each Value: WireValue>(_ value: repeat each Value) {
    repeat (each value).write(to: &self)
  }
}
