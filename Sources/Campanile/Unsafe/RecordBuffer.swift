/// Envelopes with their values in the order they came, in memory that is used again.
///
/// Belongs to one mailbox or to one drain at a time, never to both.
///
/// Invariant: the bytes from `first` to `used` of each chunk are records, each followed by an
/// initialized value of the type that the record names, at the offset that the record gives. The
/// chunk keeps the lists of its envelopes.
@safe struct RecordBuffer: ~Copyable, @unchecked Sendable {
  private struct Record {
    let envelope: Envelope
    let valueType: any Any.Type
    /// The offset of the value, and of the next record, from this one.
    private let offsets: (value: UInt32, next: UInt32)

    var valueOffset: Int { Int(offsets.value) }
    var size: Int { Int(offsets.next) }

    init(envelope: Envelope, valueType: any Any.Type, valueOffset: Int, size: Int) {
      self.envelope = envelope
      self.valueType = valueType
      offsets = (UInt32(valueOffset), UInt32(size))
    }
  }

  @safe struct Chunk {
    fileprivate let base: UnsafeMutableRawPointer
    let capacity: Int
    /// Where the first record begins: 0, unless records were moved out.
    fileprivate var first = 0
    fileprivate var used = 0
    /// The lists of the envelopes that came since the chunk was empty.
    fileprivate var kept: [ObserverList] = []

    fileprivate init(capacity: Int) {
      unsafe base = .allocate(byteCount: capacity, alignment: RecordBuffer.alignment)
      self.capacity = capacity
    }

    fileprivate var isEmpty: Bool { first == used }

    /// Whether it is to be used again: one that was made for a huge value is not.
    fileprivate var isUsual: Bool { capacity <= RecordBuffer.greatest }

    /// Makes the chunk as it was when it was new, once its records are out.
    fileprivate mutating func reset() {
      first = 0
      used = 0
      // Mostly there is one, which leaves in fewer steps alone.
      if kept.count == 1 {
        kept.removeLast()
      } else if kept.count > 1 {
        kept.removeAll(keepingCapacity: kept.count <= 64)
      }
    }
  }

  private static let alignment = 64
  /// No chunk that is used again is longer.
  private static let greatest = 65_536
  /// The size of the first chunk; later ones have twice that of the one before.
  private let least: Int
  private(set) var chunks: [Chunk] = []
  private(set) var count = 0

  /// - Parameter least: How many bytes there is room for at first.
  init(least: Int = 2_048) { self.least = least }

  deinit {
    // What is still here was not delivered and is not waited for: a mailbox empties its buffers.
    for chunk in chunks { unsafe chunk.base.deallocate() }
  }

  var isEmpty: Bool { count == 0 }

  /// Puts an envelope and its value at the end.
  mutating func append<Value>(_ envelope: Envelope, _ value: consuming Value) {
    let alignment = MemoryLayout<Value>.alignment
    precondition(alignment <= Self.alignment, "A message is aligned to more than 64 bytes")
    let most = MemoryLayout<Record>.stride + alignment + MemoryLayout<Value>.size + 16
    makeRoom(for: most)
    let last = chunks.count - 1
    envelope.forEachKept { list in
      // The envelopes of a burst are for few lists: most find theirs here.
      if chunks[last].kept.last !== list { chunks[last].kept.append(list) }
    }
    let start = chunks[last].used
    let valueOffset = Self.round(start + MemoryLayout<Record>.size, to: alignment) - start
    let size = Self.round(
      valueOffset + MemoryLayout<Value>.size, to: MemoryLayout<Record>.alignment)
    assert(start + size <= chunks[last].capacity, "A record and its value end within their chunk")
    // SAFETY: `start` is a multiple of the record's alignment, since every size is; the value's
    // place is rounded up to its own; both end within the chunk.
    let place = unsafe chunks[last].base + start
    unsafe place.initializeMemory(
      as: Record.self,
      to: Record(envelope: envelope, valueType: Value.self, valueOffset: valueOffset, size: size))
    unsafe (place + valueOffset).initializeMemory(as: Value.self, to: value)
    chunks[last].used = start + size
    count += 1
  }

  private mutating func makeRoom(for size: Int) {
    let last = chunks.last
    if let last, last.used + size <= last.capacity { return }
    let usual = last.map { min($0.capacity * 2, Self.greatest) } ?? least
    chunks.append(Chunk(capacity: max(usual, size)))
  }

  private static func round(_ offset: Int, to alignment: Int) -> Int {
    (offset + alignment - 1) & ~(alignment - 1)
  }

  /// Delivers and removes the oldest records.
  ///
  /// - Returns: how many there were, `limit` at most.
  mutating func deliver(atMost limit: Int) -> Int {
    unsafe take(atMost: limit) { record, place in _ = unsafe Self.deliver(record, place) }
  }

  /// Delivers and removes the oldest record.
  ///
  /// - Returns: The call, if it is to be made in a task.
  mutating func deliverNext() -> PreparedCall? {
    var call: PreparedCall?
    _ = unsafe take(atMost: 1) { record, place in call = unsafe Self.deliver(record, place) }
    return call
  }

  private static func deliver(
    _ record: borrowing Record, _ place: UnsafeMutableRawPointer
  ) -> PreparedCall? {
    func deliver<Value>(_ type: Value.Type) -> PreparedCall? {
      // SAFETY: the place holds an initialized value of this type, which is moved out now.
      record.envelope.deliver(unsafe place.assumingMemoryBound(to: type).move())
    }
    return deliver(record.valueType)
  }

  /// Moves the oldest record, an arrival, to the end of another buffer.
  mutating func moveFirst(to other: inout RecordBuffer) {
    let (record, place) = unsafe removeFirst()
    func move<Value>(_ type: Value.Type) {
      // SAFETY: as in `deliver`.
      other.append(record.envelope, unsafe place.assumingMemoryBound(to: type).move())
    }
    move(record.valueType)
    recycle()
  }

  /// Puts an arrival at the end, in exchange for the oldest one, whose value has the same type.
  ///
  /// What comes out is the caller's to release, where that is allowed.
  mutating func exchangeFirst<Value>(_ envelope: inout Envelope, _ value: inout Value) {
    let (record, place) = unsafe removeFirst()
    precondition(record.valueType == Value.self, "A mailbox of one observer has values of one type")
    // SAFETY: as in `deliver`.
    let oldest = unsafe place.assumingMemoryBound(to: Value.self).move()
    recycle()
    append(envelope, value)
    envelope = record.envelope
    value = oldest
  }

  /// Takes out the value of the oldest record, which is an arrival.
  mutating func takeFirst<Value>() -> Value {
    let (record, place) = unsafe removeFirst()
    precondition(record.valueType == Value.self, "A reader has values of one type")
    // SAFETY: as in `deliver`.
    let value = unsafe place.assumingMemoryBound(to: Value.self).move()
    recycle()
    return value
  }

  /// Moves the oldest record out; its value is still to be moved, and then `recycle` is to follow.
  private mutating func removeFirst() -> (Record, UnsafeMutableRawPointer) {
    let place = unsafe chunks[0].base + chunks[0].first
    // SAFETY: the caller knows of a record, and no chunk before the last is empty.
    let record = unsafe place.assumingMemoryBound(to: Record.self).move()
    chunks[0].first += record.size
    count -= 1
    return unsafe (record, place + record.valueOffset)
  }

  /// Uses the memory of arrivals again, or gives it back.
  ///
  /// Nothing else is released: they keep no list.
  private mutating func recycle() {
    if !chunks[0].isEmpty { return }
    let (isOnly, isUsual) = (chunks.count == 1, chunks[0].isUsual)
    if isOnly && isUsual { return chunks[0].reset() }
    var chunk = chunks.removeFirst()
    if isUsual && !chunks[chunks.count - 1].isEmpty {
      chunk.reset()
      chunks.append(chunk)
    } else {
      unsafe chunk.base.deallocate()
    }
  }

  /// Removes every record and tells it that it will not be delivered.
  ///
  /// What the records are for is looked at once for each list, whatever the number of the records:
  /// registrations end whose owner has died with the target.
  mutating func discardAll() {
    var lists: [ObjectIdentifier: ObserverList] = [:]
    for chunk in chunks { for list in chunk.kept { lists[ObjectIdentifier(list)] = list } }
    var trackers: [DeliveryTracker] = []
    _ = unsafe take(atMost: .max) { record, place in
      func discard<Value>(_ type: Value.Type) {
        // SAFETY: as above; the value is released before whoever waits is told.
        unsafe place.assumingMemoryBound(to: type).deinitialize(count: 1)
      }
      discard(record.valueType)
      record.envelope.noteDropped()
      if let tracker = record.envelope.tracker { trackers.append(tracker) }
    }
    for list in lists.values { list.registry.endDead(in: list) }
    for tracker in trackers { tracker.end() }
  }

  /// Moves records out, oldest first.
  ///
  /// - Returns: how many, `limit` at most.
  private mutating func take(
    atMost limit: Int, _ body: (Record, UnsafeMutableRawPointer) -> Void
  ) -> Int {
    var taken = 0
    for index in chunks.indices {
      // Not the chunk as a whole, which keeps its lists.
      let (base, used) = unsafe (chunks[index].base, chunks[index].used)
      var offset = chunks[index].first
      while offset < used && taken < limit {
        // SAFETY: by the invariant a record stands at `offset` and its value where it says.
        let place = unsafe base + offset
        let record = unsafe place.assumingMemoryBound(to: Record.self).move()
        unsafe body(record, place + record.valueOffset)
        offset += record.size
        taken += 1
      }
      chunks[index].first = offset
      if offset < used { break }
    }
    count -= taken
    dropEmptyChunks()
    return taken
  }

  /// Gives the memory back that the oldest records stood in; the only usual chunk is used again.
  ///
  /// Not under a lock: a list may end with this.
  private mutating func dropEmptyChunks() {
    // The common case, spared the search.
    if chunks.count == 1, chunks[0].isEmpty, chunks[0].isUsual { return chunks[0].reset() }
    let emptyCount = chunks.prefix(while: \.isEmpty).count
    if emptyCount == 0 { return }
    // The newest chunk is kept for the next burst.
    let isReused = emptyCount == chunks.count && chunks[emptyCount - 1].isUsual
    if isReused { chunks[emptyCount - 1].reset() }
    let droppedCount = isReused ? emptyCount - 1 : emptyCount
    for chunk in chunks.prefix(droppedCount) { unsafe chunk.base.deallocate() }
    chunks.removeFirst(droppedCount)
  }
}
