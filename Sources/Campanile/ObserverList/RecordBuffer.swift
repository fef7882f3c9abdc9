/// Letters with their values in the order they came, in memory that is used again.
///
/// Belongs to one mailbox or to one drain at a time, never to both.
///
/// Invariant: the bytes below `used` of each chunk are letters, each followed by an initialized value
/// of the type that the letter's carrier names, at the offset that the letter's place gives.
@safe final class RecordBuffer: @unchecked Sendable {
  private struct Record {
    let letter: ObserverRegistry.Letter
    let carrier: any Carrier.Type
    /// The offset of the value, and of the next record, from this one.
    let valueOffset: Int
    let size: Int
  }

  @safe private struct Chunk {
    let base: UnsafeMutableRawPointer
    let capacity: Int
    var used = 0
  }

  private static let alignment = 64
  private static let chunkSize = 32_768
  private var chunks: [Chunk] = []
  private(set) var count = 0

  deinit {
    discardAll()
    for chunk in chunks { unsafe chunk.base.deallocate() }
  }

  var isEmpty: Bool { count == 0 }

  func append<Value>(_ letter: consuming ObserverRegistry.Letter, _ value: Value) {
    let alignment = MemoryLayout<Value>.alignment
    precondition(alignment <= Self.alignment, "A message is aligned to more than 64 bytes")
    let most = MemoryLayout<Record>.stride + alignment + MemoryLayout<Value>.size + 16
    if chunks.isEmpty || chunks[chunks.count - 1].used + most > chunks[chunks.count - 1].capacity {
      let capacity = max(Self.chunkSize, most)
      chunks.append(
        unsafe Chunk(
          base: .allocate(byteCount: capacity, alignment: Self.alignment), capacity: capacity))
    }
    let last = chunks.count - 1
    let start = chunks[last].used
    let valueOffset = Self.round(start + MemoryLayout<Record>.size, to: alignment) - start
    let size = Self.round(
      valueOffset + MemoryLayout<Value>.size, to: MemoryLayout<Record>.alignment)
    // SAFETY: `start` is a multiple of the record's alignment, since every size is; the value's
    // place is rounded up to its own; both end within the chunk.
    let place = unsafe chunks[last].base + start
    unsafe place.initializeMemory(
      as: Record.self,
      to: Record(
        letter: letter, carrier: Cargo<Value>.self, valueOffset: valueOffset, size: size))
    unsafe (place + valueOffset).initializeMemory(as: Value.self, to: value)
    chunks[last].used = start + size
    count += 1
  }

  private static func round(_ offset: Int, to alignment: Int) -> Int {
    (offset + alignment - 1) & ~(alignment - 1)
  }

  /// Delivers and removes every record, oldest first.
  func deliverAll() {
    unsafe takeAll { unsafe $0.carrier.deliver($0.letter, at: $1) }
  }

  /// Removes every record and tells it that it will not be delivered.
  func discardAll() {
    unsafe takeAll { unsafe $0.carrier.discard($0.letter, at: $1) }
  }

  private func takeAll(_ body: (Record, UnsafeMutableRawPointer) -> Void) {
    for index in chunks.indices {
      let chunk = chunks[index]
      var offset = 0
      while offset < chunk.used {
        // SAFETY: by the invariant a record stands at `offset` and its value where it says.
        let place = unsafe chunk.base + offset
        let record = unsafe place.assumingMemoryBound(to: Record.self).move()
        unsafe body(record, place + record.valueOffset)
        offset += record.size
      }
      chunks[index].used = 0
    }
    count = 0
    // One chunk is kept for the next batch; a burst's others go back.
    while chunks.count > 1 { unsafe chunks.removeLast().base.deallocate() }
    if let only = chunks.first, only.capacity > Self.chunkSize {
      chunks = []
      unsafe only.base.deallocate()
    }
  }
}

/// What knows the type of the value in a record.
private protocol Carrier {
  static func deliver(_ letter: ObserverRegistry.Letter, at place: UnsafeMutableRawPointer)
  static func discard(_ letter: ObserverRegistry.Letter, at place: UnsafeMutableRawPointer)
}

private enum Cargo<Value>: Carrier {
  static func deliver(_ letter: ObserverRegistry.Letter, at place: UnsafeMutableRawPointer) {
    // SAFETY: the place holds an initialized value of this type, which is moved out now.
    letter.deliver(unsafe place.assumingMemoryBound(to: Value.self).move())
  }

  static func discard(_ letter: ObserverRegistry.Letter, at place: UnsafeMutableRawPointer) {
    // SAFETY: as above; the value is released before whoever waits is told.
    unsafe place.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
    letter.discard()
  }
}
