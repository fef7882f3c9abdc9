/// What a post leaves in a mailbox.
protocol QueuedRecord {
  /// Delivers; called on the target.
  func run()
  /// Gives up: the target has ended.
  func discard()
}

/// Records of any type and size in the order they came, in memory that is used again.
///
/// Belongs to one mailbox or to one drain at a time, never to both.
///
/// Invariant: the bytes below `used` of each chunk are headers, each followed by an initialized
/// record of the type that the header names, at an offset that the record's alignment allows.
@safe final class RecordBuffer: @unchecked Sendable {
  private struct Header {
    let type: any QueuedRecord.Type
    /// The offset of the record, and of what follows it, from the header.
    let recordOffset: Int
    let size: Int
  }

  @safe private struct Chunk {
    let base: UnsafeMutableRawPointer
    let capacity: Int
    var used = 0
  }

  private static let alignment = 64
  private static let chunkSize = 8_192
  private var chunks: [Chunk] = []
  private(set) var count = 0

  deinit {
    discardAll()
    for chunk in chunks { unsafe chunk.base.deallocate() }
  }

  var isEmpty: Bool { count == 0 }

  func append<Record: QueuedRecord>(_ record: consuming Record) {
    let alignment = MemoryLayout<Record>.alignment
    precondition(alignment <= Self.alignment, "A message is aligned to more than 64 bytes")
    let most = MemoryLayout<Header>.size + alignment + MemoryLayout<Record>.size
    if chunks.isEmpty || chunks[chunks.count - 1].used + most > chunks.last!.capacity {
      let capacity = max(Self.chunkSize, most + MemoryLayout<Header>.alignment)
      unsafe chunks.append(
        Chunk(
          base: .allocate(byteCount: capacity, alignment: Self.alignment), capacity: capacity))
    }
    let last = chunks.count - 1
    let start = chunks[last].used
    let recordOffset = Self.round(start + MemoryLayout<Header>.size, to: alignment) - start
    let size = Self.round(
      recordOffset + MemoryLayout<Record>.size, to: MemoryLayout<Header>.alignment)
    // SAFETY: `start` is a multiple of the header's alignment, since every size is; the record's
    // place is rounded up to its own; both end within the chunk.
    let place = unsafe chunks[last].base + start
    unsafe place.initializeMemory(
      as: Header.self, to: Header(type: Record.self, recordOffset: recordOffset, size: size))
    unsafe (place + recordOffset).initializeMemory(as: Record.self, to: record)
    chunks[last].used = start + size
    count += 1
  }

  private static func round(_ offset: Int, to alignment: Int) -> Int {
    (offset + alignment - 1) & ~(alignment - 1)
  }

  /// Runs and removes every record, oldest first.
  func runAll() { unsafe takeAll { unsafe $0.run(at: $1) } }

  /// Removes every record and tells it that it will not run.
  func discardAll() { unsafe takeAll { unsafe $0.discard(at: $1) } }

  private func takeAll(_ body: (any QueuedRecord.Type, UnsafeMutableRawPointer) -> Void) {
    for index in chunks.indices {
      let chunk = chunks[index]
      var offset = 0
      while offset < chunk.used {
        // SAFETY: by the invariant a header stands at `offset` and its record where it says.
        let header = unsafe (chunk.base + offset).load(as: Header.self)
        unsafe body(header.type, chunk.base + offset + header.recordOffset)
        offset += header.size
      }
      chunks[index].used = 0
    }
    count = 0
    // One chunk is kept for the next batch; a burst's others go back.
    while chunks.count > 1 { unsafe chunks.removeLast().base.deallocate() }
    if chunks.first.map({ $0.capacity > Self.chunkSize }) == true {
      unsafe chunks.removeLast().base.deallocate()
    }
  }
}

extension QueuedRecord {
  fileprivate static func run(at place: UnsafeMutableRawPointer) {
    // SAFETY: the caller's place holds an initialized record of this type, and forgets it now.
    let record = unsafe place.assumingMemoryBound(to: Self.self).move()
    record.run()
  }

  fileprivate static func discard(at place: UnsafeMutableRawPointer) {
    // SAFETY: as above.
    let record = unsafe place.assumingMemoryBound(to: Self.self).move()
    record.discard()
  }
}
