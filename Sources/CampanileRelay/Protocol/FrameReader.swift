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

  /// The number of elements that follow, each of which takes at least `size` bytes.
  private mutating func count(of size: Int) throws(FrameError) -> Int {
    let count = Int(try integer(UInt32.self))
    // The product cannot overflow: both factors are below 2^32.
    try require(count * size)
    return count
  }

  mutating func data() throws(FrameError) -> [UInt8] {
    let count = try count(of: 1)
    defer { offset += count }
    return Array(bytes[offset..<offset + count])
  }

  mutating func string() throws(FrameError) -> String {
    let count = try count(of: 1)
    defer { offset += count }
    let text = bytes[offset..<offset + count]
    // `String(validating:)` looks types up at each call.
    let string = String(decoding: text, as: UTF8.self)
    // Bytes that are not UTF-8 have been replaced.
    guard string.utf8.elementsEqual(text) else {
      throw FrameError("A string of a frame is not UTF-8.")
    }
    return string
  }

  mutating func array<Element>(
    of size: Int, _ read: (inout Self) throws(FrameError) -> Element
  ) throws(FrameError) -> [Element] {
    let count = try count(of: size)
    var elements: [Element] = []
    elements.reserveCapacity(count)
    for _ in 0..<count { elements.append(try read(&self)) }
    return elements
  }

  mutating func strings() throws(FrameError) -> [String] {
    try array(of: 4) { reader throws(FrameError) in try reader.string() }
  }

  mutating func id() throws(FrameError) -> MemberID {
    MemberID(rawValue: try integer())
  }

  mutating func position() throws(FrameError) -> Position {
    Position(generation: try integer(), sequence: try integer())
  }

  mutating func peer() throws(FrameError) -> Peer {
    Peer(
      id: try id(), name: try string(),
      processID: Int32(bitPattern: try integer(UInt32.self)))
  }

  mutating func message() throws(FrameError) -> Message {
    Message(
      sender: try id(), number: try integer(), position: try position(), subject: try string(),
      version: try integer(),
      path: try array(of: 8) { reader throws(FrameError) in try reader.integer() },
      payload: try data())
  }

  mutating func status() throws(FrameError) -> AnswerStatus {
    let value = try integer(UInt8.self)
    guard let status = AnswerStatus(rawValue: value), status != .refused else {
      throw FrameError("A reply has the unknown status \(value).")
    }
    return status
  }

  mutating func flag() throws(FrameError) -> Bool {
    let value = try integer(UInt8.self)
    guard value <= 1 else { throw FrameError("A flag of a frame has the value \(value).") }
    return value == 1
  }
}
