/// A value that is a field of frames.
///
/// Reading checks the bytes, which another process has written, and throws a sentence.
protocol WireValue {
  init(from reader: inout FrameReader) throws(FrameError)
  func write(to writer: inout FrameWriter)
}

extension WireValue where Self: FixedWidthInteger & UnsignedInteger {
  @inline(__always)
  init(from reader: inout FrameReader) throws(FrameError) { self = try reader.integer() }

  @inline(__always)
  func write(to writer: inout FrameWriter) { writer.integer(self) }
}

extension UInt8: WireValue {}
extension UInt32: WireValue {}
extension UInt64: WireValue {}

extension Bool: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    let value: UInt8 = try reader.read()
    guard value <= 1 else { throw FrameError("A flag of a frame has the value \(value).") }
    self = value == 1
  }

  func write(to writer: inout FrameWriter) { writer.integer(self ? 1 : 0 as UInt8) }
}

extension String: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    let text = try reader.slice()
    // `String(validating:)` looks types up at each call.
    self.init(decoding: text, as: UTF8.self)
    // Bytes that are not UTF-8 have been replaced.
    guard utf8.elementsEqual(text) else { throw FrameError("A string of a frame is not UTF-8.") }
  }

  func write(to writer: inout FrameWriter) { writer.bytes(utf8) }
}

/// Each element is one byte or more: no more memory is taken than the frame has bytes for.
extension Array: WireValue where Element: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init()
    for _ in 0..<(try reader.integer(UInt32.self)) { append(try reader.read()) }
  }

  func write(to writer: inout FrameWriter) {
    writer.integer(UInt32(count))
    for element in self { element.write(to: &writer) }
  }
}
