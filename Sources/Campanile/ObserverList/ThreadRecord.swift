import Synchronization

/// One post in progress, as other threads see it.
///
/// Written by the thread that posts, read by whoever ends a registration. `source` is the address
/// of the registry being posted to, or 0. While `source` is set, `mark` bounds what the post may
/// touch: it holds no registration with a greater identifier and no structure created after it.
struct PostFrame: ~Copyable {
  let source = Atomic<UInt>(0)
  let mark = Atomic<UInt64>(0)
}

/// Eight frames, and the block for deeper nesting, if a post ever nested that deep.
///
/// Blocks are never freed, so that a reader can hold an address of one without a lock.
@safe struct FrameBlock: ~Copyable {
  static let frameCount = 8

  let frames: UnsafeMutablePointer<PostFrame>
  let next = Atomic<UInt>(0)

  init() {
    // The alignment keeps the frames of two threads off each other's cache lines.
    let byteCount = Self.frameCount * MemoryLayout<PostFrame>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 128)
    unsafe frames = memory.bindMemory(to: PostFrame.self, capacity: Self.frameCount)
    for index in 0..<Self.frameCount {
      unsafe (frames + index).initialize(to: PostFrame())
    }
  }
}

/// The frames of one thread, as every thread sees them.
///
/// Never changed once made, but for the frames' atomics; never freed.
@safe struct SharedRecord: ~Copyable {
  let first: UnsafeMutablePointer<FrameBlock>
  let nextInBucket: UnsafeMutablePointer<SharedRecord>?

  init(next: UnsafeMutablePointer<SharedRecord>?) {
    unsafe first = .allocate(capacity: 1)
    unsafe first.initialize(to: FrameBlock())
    unsafe nextInBucket = next
  }

  /// Calls `body` with each frame.
  borrowing func forEachFrame(_ body: (UnsafeMutablePointer<PostFrame>) -> Void) {
    var block: UnsafeMutablePointer<FrameBlock>? = unsafe first
    while let current = unsafe block {
      for index in 0..<FrameBlock.frameCount {
        unsafe body(current.pointee.frames + index)
      }
      unsafe block = unsafe UnsafeMutablePointer(
        bitPattern: current.pointee.next.load(ordering: .sequentiallyConsistent))
    }
  }
}

/// What a thread knows about its own posts.
///
/// A record belongs to one thread at a time, and no other thread touches it: it is handed out at
/// the thread's first post, given back when the thread ends, and used again by another. What others
/// read stands in the `SharedRecord`. Neither is ever freed.
@safe struct ThreadRecord: ~Copyable {
  /// How many posts the thread is inside of.
  private(set) var depth = 0
  /// This record's bit in the mask that a registry keeps of the threads that posted to it.
  let bit: UInt64
  /// The first frames of `shared`.
  private let frames: UnsafeMutablePointer<PostFrame>
  private let shared: UnsafeMutablePointer<SharedRecord>

  private init(bucket: Int, shared: UnsafeMutablePointer<SharedRecord>) {
    bit = 1 << UInt64(bucket)
    unsafe frames = shared.pointee.first.pointee.frames
    unsafe self.shared = shared
  }

  /// Opens a frame that names `source`, with a mark that bounds nothing yet.
  @inline(__always)
  mutating func push(_ source: UInt) -> UnsafeMutablePointer<PostFrame> {
    let frame = unsafe frame(at: depth)
    depth &+= 1
    unsafe frame.pointee.mark.store(.max, ordering: .relaxed)
    // Sequentially consistent: one side of the store-then-load pair with a registry's scan.
    unsafe frame.pointee.source.store(source, ordering: .sequentiallyConsistent)
    return unsafe frame
  }

  /// Closes the frame that was opened last.
  @inline(__always)
  mutating func pop(_ frame: UnsafeMutablePointer<PostFrame>) {
    // Sequentially consistent: the leaving post reads the registry's clock after it.
    unsafe frame.pointee.source.store(0, ordering: .sequentiallyConsistent)
    depth &-= 1
  }

  /// Whether the calling thread is inside an observer.
  var isInsidePost: Bool { depth > 0 }

  @inline(__always)
  private func frame(at depth: Int) -> UnsafeMutablePointer<PostFrame> {
    // SAFETY: the first block is allocated forever, and `depth` is within its frames.
    if depth < FrameBlock.frameCount { return unsafe frames + depth }
    return unsafe deepFrame(at: depth)
  }

  @inline(never)
  private func deepFrame(at depth: Int) -> UnsafeMutablePointer<PostFrame> {
    var block = unsafe shared.pointee.first
    for _ in 0..<(depth / FrameBlock.frameCount) {
      let address = unsafe block.pointee.next.load(ordering: .acquiring)
      if let next = unsafe UnsafeMutablePointer<FrameBlock>(bitPattern: address) {
        unsafe block = unsafe next
      } else {
        let next = UnsafeMutablePointer<FrameBlock>.allocate(capacity: 1)
        unsafe next.initialize(to: FrameBlock())
        // Sequentially consistent: in place before the frame in it announces anything.
        unsafe block.pointee.next.store(UInt(bitPattern: next), ordering: .sequentiallyConsistent)
        unsafe block = unsafe next
      }
    }
    return unsafe block.pointee.frames + depth % FrameBlock.frameCount
  }
}

/// Handing records out to threads, and finding the frames of all of them.
extension ThreadRecord {
  /// The first shared record of each of 64 buckets, one for each bit of a mask. A bucket only
  /// grows.
  // SAFETY: made once, never freed, and what it points to is atomic.
  private nonisolated(unsafe) static let heads: UnsafeMutablePointer<Atomic<UInt>> = {
    let heads = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: 64)
    for index in 0..<64 { unsafe (heads + index).initialize(to: Atomic(0)) }
    return unsafe heads
  }()

  private struct Pool {
    var free: [UInt] = []
    var count = 0
  }

  private static let pool = Locked(Pool())

  /// The calling thread's record.
  static var current: UnsafeMutablePointer<ThreadRecord> { unsafe current(in: .records) }

  /// The calling thread's record.
  ///
  /// - Parameter slot: The slot for records, which a caller in a hurry has at hand.
  @inline(__always)
  static func current(in slot: ThreadSlot) -> UnsafeMutablePointer<ThreadRecord> {
    // SAFETY: the slot holds nothing but a record, which is never freed.
    if let record = unsafe slot.value {
      return unsafe record.assumingMemoryBound(to: ThreadRecord.self)
    }
    return unsafe claim()
  }

  /// A number that no other living thread has; never 0.
  static var currentID: UInt { unsafe UInt(bitPattern: current) }

  /// Whether the calling thread is inside an observer.
  static var isInsidePost: Bool {
    guard let record = unsafe ThreadSlot.records.value else { return false }
    // SAFETY: as in `current(in:)`.
    return unsafe record.assumingMemoryBound(to: ThreadRecord.self).pointee.isInsidePost
  }

  @inline(never)
  private static func claim() -> UnsafeMutablePointer<ThreadRecord> {
    let address = pool.withLock { pool -> UInt in
      if let free = pool.free.popLast() { return free }
      let bucket = pool.count % 64
      pool.count += 1
      let head = unsafe heads + bucket
      let next = unsafe UnsafeMutablePointer<SharedRecord>(
        bitPattern: head.pointee.load(ordering: .relaxed))
      let shared = UnsafeMutablePointer<SharedRecord>.allocate(capacity: 1)
      unsafe shared.initialize(to: SharedRecord(next: next))
      // Written by its thread at each post, hence on lines that nothing else stands on.
      let memory = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
      let record = unsafe memory.bindMemory(to: ThreadRecord.self, capacity: 1)
      unsafe record.initialize(to: ThreadRecord(bucket: bucket, shared: shared))
      // Sequentially consistent: in place before the new owner's first announcement.
      unsafe head.pointee.store(UInt(bitPattern: shared), ordering: .sequentiallyConsistent)
      return UInt(bitPattern: record)
    }
    // SAFETY: the pool holds addresses of records, which are never freed.
    let record = unsafe UnsafeMutablePointer<ThreadRecord>(bitPattern: address)!
    unsafe ThreadSlot.records.value = UnsafeMutableRawPointer(record)
    return unsafe record
  }

  /// Gives a record back; called when its thread ends.
  static func release(_ pointer: UnsafeMutableRawPointer?) {
    let address = UInt(bitPattern: pointer)
    pool.withLock { $0.free.append(address) }
  }

  /// Whether the frame at `address` is one of the calling thread's.
  static func currentOwns(_ address: UInt) -> Bool {
    var isOwn = false
    unsafe current.pointee.shared.pointee.forEachFrame {
      if UInt(bitPattern: $0) == address { isOwn = true }
    }
    return isOwn
  }

  /// Calls `body` with each frame of the records that `bit` stands for.
  static func forEachFrame(ofBit bit: Int, _ body: (UnsafeMutablePointer<PostFrame>) -> Void) {
    var record = unsafe UnsafeMutablePointer<SharedRecord>(
      bitPattern: (heads + bit).pointee.load(ordering: .sequentiallyConsistent))
    while let current = unsafe record {
      unsafe current.pointee.forEachFrame(body)
      unsafe record = unsafe current.pointee.nextInBucket
    }
  }
}
