import Campanile

/// The newest records of a trace, up to a capacity.
///
/// The records are kept in chunks. After a reader has copied the ring, the next record copies the
/// list of chunks and one chunk, and not all records.
struct TraceRing {
  static let chunkSize = 256

  private let capacity: Int
  private var chunks: [[TraceRecord]] = []
  private var count = 0
  /// The index of the oldest record.
  private var first = 0

  init(capacity: Int) { self.capacity = capacity }

  /// Adds a record.
  ///
  /// If the ring is full, the record overwrites the oldest one.
  ///
  /// - Returns: Whether a record was overwritten.
  mutating func append(_ record: TraceRecord) -> Bool {
    if count == capacity {
      let (chunk, index) = first.quotientAndRemainder(dividingBy: Self.chunkSize)
      chunks[chunk][index] = record
      first = (first + 1) % capacity
      return true
    }
    if count % Self.chunkSize == 0 { chunks.append([]) }
    chunks[chunks.count - 1].append(record)
    count += 1
    return false
  }

  /// The threads of the records.
  var threads: Set<UInt64> { Set(chunks.joined().lazy.map(\.thread)) }

  /// The newest records, back to the last but `count`th post, in the order in which they were added.
  func last(posts count: Int) -> [TraceRecord] {
    var found: [TraceRecord] = []
    var missing = count
    for offset in stride(from: self.count - 1, through: 0, by: -1) where missing > 0 {
      let index = (first + offset) % self.count
      let record = chunks[index / Self.chunkSize][index % Self.chunkSize]
      found.append(record)
      if record.kind == .posted { missing -= 1 }
    }
    return found.reversed()
  }

  /// The records, the oldest first.
  var records: [TraceRecord] {
    let all = Array(chunks.joined())
    return Array(all[first...] + all[..<first])
  }
}
