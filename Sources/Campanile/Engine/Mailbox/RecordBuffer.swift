import Synchronization

/// Envelopes with their values in the order of their arrival, in memory that is reused.
///
/// A buffer has one owner at a time: a mailbox, a drain, a reader, or a current value. The memory is
/// a chain of chunks. Invariant: no chunk is empty unless it is the only one. The bytes from `first`
/// to `used` of a chunk are records. Each record is followed by an initialized value, whose type and
/// offset the record contains. The chunk keeps the lists of its envelopes.
@safe struct RecordBuffer: ~Copyable, @unchecked Sendable {
  private struct Record {
    let envelope: Envelope
    let valueType: any Any.Type
    /// The offsets of the value and of the next record, counted from this record.
    let offsets: (value: UInt32, next: UInt32)
  }

  /// The head of a chunk, in front of its records.
  @unsafe private struct Chunk {
    /// How many bytes the chunk has, with its head.
    let size: Int
    var first = RecordBuffer.start
    var used = RecordBuffer.start
    var next: UnsafeMutablePointer<Chunk>?
    /// The lists of the envelopes that came since the chunk was empty.
    var kept: [ObserverList] = []
  }

  private static let alignment = 64
  /// Where the first record of a chunk begins.
  private static let start = 64
  private static let least = 512
  /// No chunk that is used again is larger.
  private static let greatest = 65_536

  private var oldest: UnsafeMutablePointer<Chunk>?
  private var newest: UnsafeMutablePointer<Chunk>?
  /// The sizes of all chunks, together.
  private(set) var capacity = 0
  private(set) var count = 0

  deinit {
    // The records that are left were not delivered and are not waited for: a mailbox empties its own.
    if let oldest = unsafe oldest { unsafe Self.free(from: oldest) }
  }

  var isEmpty: Bool { count == 0 }

  /// Puts an envelope and its value at the end.
  mutating func append<Value>(_ envelope: Envelope, _ value: consuming Value) {
    let (alignment, size) = (MemoryLayout<Value>.alignment, MemoryLayout<Value>.size)
    if alignment > Self.alignment { misuse("A message is aligned to more than 64 bytes") }
    let chunk = unsafe chunk(for: MemoryLayout<Record>.stride + alignment + size + 16)
    envelope.forEachKept { list in
      // The envelopes of a burst are for few lists: most find theirs here.
      if unsafe chunk.pointee.kept.last !== list { unsafe chunk.pointee.kept.append(list) }
    }
    let start = unsafe chunk.pointee.used
    let valueOffset = Self.round(start + MemoryLayout<Record>.size, to: alignment) - start
    let next = Self.round(valueOffset + size, to: MemoryLayout<Record>.alignment)
    assert(unsafe start + next <= chunk.pointee.size, "A value ends within its chunk")
    let record = Record(
      envelope: envelope, valueType: Value.self, offsets: (UInt32(valueOffset), UInt32(next)))
    // SAFETY: `start` is a multiple of the record's alignment, since every offset is; the value's place
    // is rounded up to its own; both end within the chunk.
    let place = unsafe UnsafeMutableRawPointer(chunk) + start
    unsafe place.initializeMemory(as: Record.self, to: record)
    unsafe (place + valueOffset).initializeMemory(as: Value.self, to: value)
    unsafe chunk.pointee.used = start + next
    count += 1
  }

  private static func round(_ offset: Int, to alignment: Int) -> Int {
    (offset + alignment - 1) & ~(alignment - 1)
  }

  /// The newest chunk, with so many bytes left; a new one is as large as all before it.
  private mutating func chunk(for size: Int) -> UnsafeMutablePointer<Chunk> {
    if let newest = unsafe newest, unsafe newest.pointee.used + size <= newest.pointee.size {
      return unsafe newest
    }
    let size = max(min(max(capacity, Self.least), Self.greatest), Self.start + size)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Self.alignment)
    let chunk = unsafe memory.initializeMemory(as: Chunk.self, to: Chunk(size: size))
    capacity += size
    let previous = unsafe newest
    unsafe newest = chunk
    if let previous = unsafe previous {
      unsafe previous.pointee.next = chunk
      recycle()
    } else {
      unsafe oldest = chunk
    }
    return unsafe chunk
  }

  // MARK: Taking out

  /// Moves the oldest record out; its value is still to be moved, and then `recycle` is to follow.
  private mutating func removeFirst() -> (Record, UnsafeMutableRawPointer) {
    if isEmpty { misuse("The first record was asked for of a buffer without records") }
    // SAFETY: there is a record, and no chunk before it is empty.
    let chunk = unsafe oldest.unsafelyUnwrapped
    let place = unsafe UnsafeMutableRawPointer(chunk) + chunk.pointee.first
    let record = unsafe place.assumingMemoryBound(to: Record.self).move()
    unsafe chunk.pointee.first += Int(record.offsets.next)
    count -= 1
    return unsafe (record, place + Int(record.offsets.value))
  }

  /// Frees or reuses the memory of the oldest records once they are out.
  ///
  /// Call it without a lock, because it may release a list. An envelope for one observer keeps none,
  /// and neither does a chunk that is empty because nothing was ever in it.
  private mutating func recycle() {
    guard let chunk = unsafe oldest, unsafe chunk.pointee.first == chunk.pointee.used else {
      return
    }
    if unsafe chunk == newest && chunk.pointee.size <= Self.greatest {
      unsafe chunk.pointee.first = Self.start
      unsafe chunk.pointee.used = Self.start
      // Mostly there is one list, which leaves in fewer steps alone.
      if unsafe chunk.pointee.kept.count == 1 {
        unsafe chunk.pointee.kept.removeLast()
      } else if unsafe !chunk.pointee.kept.isEmpty {
        unsafe chunk.pointee.kept.removeAll(keepingCapacity: chunk.pointee.kept.count <= 64)
      }
    } else {
      unsafe oldest = chunk.pointee.next
      if unsafe oldest == nil { unsafe newest = nil }
      capacity -= unsafe chunk.pointee.size
      unsafe Self.free(chunk)
    }
  }

  /// Frees a chunk and those that follow it.
  @inline(never)
  private static func free(from chunk: UnsafeMutablePointer<Chunk>) {
    var rest: UnsafeMutablePointer<Chunk>? = unsafe chunk
    while let chunk = unsafe rest {
      unsafe rest = chunk.pointee.next
      unsafe free(chunk)
    }
  }

  private static func free(_ chunk: UnsafeMutablePointer<Chunk>) {
    unsafe chunk.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(chunk).deallocate()
  }

  /// Delivers and removes the oldest records.
  ///
  /// - Parameters:
  ///   - call: Set to the last one's call, if that is to be made in a task.
  ///   - left: Set to the number of those that are left, before each delivery.
  /// - Returns: How many there were, `limit` at most.
  @inline(never)
  mutating func deliver(
    atMost limit: Int, inTask call: inout PreparedCall?, left: borrowing Atomic<Int>
  ) -> Int {
    let delivered = min(limit, count)
    for _ in 0..<delivered {
      let (record, place) = unsafe removeFirst()
      // No pair: a number for code that asks how much waits.
      left.store(count, ordering: .relaxed)
      func deliver<Value>(_ type: Value.Type) -> PreparedCall? {
        // SAFETY: the place holds an initialized value of this type, which is moved out now.
        record.envelope.deliver(unsafe place.assumingMemoryBound(to: type).move())
      }
      call = deliver(record.valueType)
      recycle()
    }
    return delivered
  }

  /// Takes out the value of the oldest record, which is of that type, and its envelope.
  mutating func takeFirst<Value>(_ envelope: inout Envelope) -> Value {
    let (record, place) = unsafe removeFirst()
    if record.valueType != Value.self { misuse("A record was taken out as of another type") }
    // SAFETY: as in `deliver`.
    let value = unsafe place.assumingMemoryBound(to: Value.self).move()
    envelope = record.envelope
    recycle()
    return value
  }

  /// Moves the oldest record, which is for one observer, to the end of another buffer.
  mutating func moveFirst(to other: inout RecordBuffer) {
    let (record, place) = unsafe removeFirst()
    func move<Value>(_ type: Value.Type) {
      // SAFETY: as in `deliver`.
      other.append(record.envelope, unsafe place.assumingMemoryBound(to: type).move())
    }
    move(record.valueType)
    recycle()
  }

  /// Removes every record, and reports to it that it will not be delivered.
  ///
  /// Each list of the records is checked once, whatever the number of records. Registrations end if
  /// their owner has died with the target.
  ///
  /// - Parameter only: The registration of all records, whose counters count them.
  mutating func discardAll(of only: Registration? = nil) {
    // Of a type that other code uses too: each type of dictionary is compiled separately.
    var lists: [ObjectIdentifier: any AnyObject & Sendable] = .init()
    var trackers: [DeliveryTracker] = []
    while !isEmpty {
      let (record, place) = unsafe removeFirst()
      func discard<Value>(_ type: Value.Type) {
        // SAFETY: as in `deliver`; the value is released before the waiting code resumes.
        _ = unsafe place.assumingMemoryBound(to: type).move()
        only?.counters?.countDrop()
      }
      discard(record.valueType)
      record.envelope.noteDropped()
      record.envelope.forEachKept { lists.put($0, for: ObjectIdentifier($0)) }
      if let tracker = record.envelope.tracker { trackers.append(tracker) }
      recycle()
    }
    for list in lists.values {
      // SAFETY: only lists were put in.
      let list = unsafe unsafeDowncast(list, to: ObserverList.self)
      list.registry.endDead(in: list)
    }
    if let only, let observer = only.list.registry.observer(of: only) {
      only.list.registry.endDead([LiveRegistration(registration: only, observer: observer)])
    }
    for tracker in trackers { tracker.end() }
  }
}
