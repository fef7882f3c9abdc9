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

  mutating func data(_ value: [UInt8]) {
    integer(UInt32(value.count))
    bytes.append(contentsOf: value)
  }

  mutating func string(_ value: String) {
    integer(UInt32(value.utf8.count))
    bytes.append(contentsOf: value.utf8)
  }

  mutating func array<Element>(_ elements: [Element], _ write: (inout Self, Element) -> Void) {
    integer(UInt32(elements.count))
    for element in elements { write(&self, element) }
  }

  mutating func id(_ value: MemberID) { integer(value.rawValue) }

  mutating func position(_ value: Position) {
    integer(value.generation)
    integer(value.sequence)
  }

  mutating func peer(_ value: Peer) {
    id(value.id)
    string(value.name)
    integer(UInt32(bitPattern: value.processID))
  }

  mutating func message(_ value: Message) {
    id(value.sender)
    integer(value.number)
    position(value.position)
    string(value.subject)
    integer(value.version)
    array(value.path) { $0.integer($1) }
    data(value.payload)
  }
}
