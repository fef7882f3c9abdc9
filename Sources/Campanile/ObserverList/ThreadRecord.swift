import Synchronization

/// The reservation of one post in progress: what other threads see of it.
///
/// The thread that posts writes the reservation; whoever ends a registration reads it. `source` is
/// the address of the registry being posted to, or 0, with two flags in its low bits. While
/// `source` is set, `upper` bounds what the post may touch: no registration with a greater
/// identifier, and no structure created after it.
struct Reservation: ~Copyable {
  /// Set by a scan: something waits for the post to leave.
  static let ticketFlag: UInt = 1
  /// Set by the thread that posts: the reservation is not in its first block.
  static let deepFlag: UInt = 2
  static let flags = ticketFlag | deepFlag

  let source = Atomic<UInt>(0)
  let upper = Atomic<UInt64>(0)
}

/// Eight reservations, and the block of the posts that are nested deeper.
///
/// Blocks are never freed, so that a reader can hold the address of one without a lock.
@safe struct ReservationBlock: ~Copyable {
  static let capacity = 8

  let reservations: UnsafeMutablePointer<Reservation>
  /// The block of the posts that are nested less deep.
  let previous: UnsafeMutablePointer<ReservationBlock>?
  /// The address of the next block while that is in use, or 0.
  ///
  /// Scans read no further, so that one deep nesting does not make later ends slower.
  let next = Atomic<UInt>(0)
  /// The address of the next block once there is one; only the thread that posts reads it.
  private let spare = Atomic<UInt>(0)

  init(previous: UnsafeMutablePointer<ReservationBlock>?) {
    // The alignment keeps the reservations of two threads off each other's cache lines.
    let byteCount = Self.capacity * MemoryLayout<Reservation>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 128)
    unsafe reservations = memory.bindMemory(to: Reservation.self, capacity: Self.capacity)
    for index in 0..<Self.capacity {
      unsafe (reservations + index).initialize(to: Reservation())
    }
    unsafe self.previous = unsafe previous
  }

  static func make(
    after previous: UnsafeMutablePointer<ReservationBlock>?
  ) -> UnsafeMutablePointer<ReservationBlock> {
    let block = UnsafeMutablePointer<ReservationBlock>.allocate(capacity: 1)
    unsafe block.initialize(to: ReservationBlock(previous: previous))
    return unsafe block
  }

  /// Puts the block after `block` in use, and returns it.
  static func open(
    after block: UnsafeMutablePointer<ReservationBlock>
  ) -> UnsafeMutablePointer<ReservationBlock> {
    // No pair: the thread that posts alone touches the spare block.
    let spare = unsafe UnsafeMutablePointer<ReservationBlock>(
      bitPattern: block.pointee.spare.load(ordering: .relaxed))
    let next = unsafe spare ?? make(after: block)
    let address = UInt(bitPattern: next)
    // No pair: the same.
    unsafe block.pointee.spare.store(address, ordering: .relaxed)
    // Pairs with `forEachReservation`: a part of the announcement that follows in the block. A scan
    // that does not see the block has stored the clock before the post loads it.
    unsafe block.pointee.next.store(address, ordering: .sequentiallyConsistent)
    return unsafe next
  }

  /// Takes the block out of use, all of whose posts have left.
  ///
  /// - Returns: The block before it.
  static func close(
    _ block: UnsafeMutablePointer<ReservationBlock>
  ) -> UnsafeMutablePointer<ReservationBlock> {
    let previous = unsafe block.pointee.previous.unsafelyUnwrapped
    // Pairs with `forEachReservation`, as `pop` does with `collect`: the block's posts have left.
    unsafe previous.pointee.next.store(0, ordering: .releasing)
    return unsafe previous
  }
}

/// The reservations of one thread, as every thread sees them.
///
/// Never changed once made, but for the reservations' atomics; never freed.
@safe struct SharedRecord: ~Copyable {
  let first: UnsafeMutablePointer<ReservationBlock>
  let nextInBucket: UnsafeMutablePointer<SharedRecord>?

  init(next: UnsafeMutablePointer<SharedRecord>?) {
    unsafe first = ReservationBlock.make(after: nil)
    unsafe nextInBucket = next
  }

  /// Calls `body` with each reservation of the blocks in use, the outermost first.
  @inline(__always)
  borrowing func forEachReservation(_ body: (UnsafeMutablePointer<Reservation>) -> Void) {
    var block: UnsafeMutablePointer<ReservationBlock>? = unsafe first
    while let current = unsafe block {
      for index in 0..<ReservationBlock.capacity {
        unsafe body(current.pointee.reservations + index)
      }
      // Pairs with `open` and `close`: the scan stored the clock first.
      unsafe block = unsafe UnsafeMutablePointer(
        bitPattern: current.pointee.next.load(ordering: .sequentiallyConsistent))
    }
  }
}

/// What a thread knows about its own posts.
///
/// A record belongs to one thread at a time, and no other thread touches it. A thread gets a record
/// at its first post, and gives it back when the thread ends. Then another thread can use it. The
/// `SharedRecord` contains what other threads read. Neither is ever freed.
@safe struct ThreadRecord: ~Copyable {
  /// How many posts the thread is inside of.
  private(set) var depth = 0
  /// This record's bit in the mask that a registry keeps of the threads that posted to it.
  let bit: UInt64
  /// The first reservations of `shared`.
  private let reservations: UnsafeMutablePointer<Reservation>
  private let shared: UnsafeMutablePointer<SharedRecord>
  /// The block of the innermost post.
  private var block: UnsafeMutablePointer<ReservationBlock>
  /// The scope that the thread's code is part of, if a source has set one; the source keeps it
  /// alive.
  var scope: Unmanaged<AnyObject>?
  /// The number of the post whose observer runs, or 0 if that is not reported.
  var post: UInt64 = 0
  /// The nanoseconds that calls nested in the running call have taken.
  var nestedTime: UInt64 = 0
  /// The system's number for the thread.
  private(set) var systemNumber: UInt64 = 0

  private init(bucket: Int, shared: UnsafeMutablePointer<SharedRecord>) {
    bit = 1 << UInt64(bucket)
    unsafe block = shared.pointee.first
    unsafe reservations = shared.pointee.first.pointee.reservations
    unsafe self.shared = shared
  }

  /// Opens a reservation that names `source`, with an upper bound that bounds nothing yet.
  @inline(__always)
  mutating func push(_ source: UInt) -> UnsafeMutablePointer<Reservation> {
    if depth >= ReservationBlock.capacity { return unsafe pushDeep(source) }
    // SAFETY: the first block is allocated forever, and `depth` is within its reservations.
    let reservation = unsafe reservations + depth
    unsafe open(reservation, source)
    return unsafe reservation
  }

  @inline(never)
  private mutating func pushDeep(_ source: UInt) -> UnsafeMutablePointer<Reservation> {
    let index = depth % ReservationBlock.capacity
    if index == 0 { unsafe block = ReservationBlock.open(after: block) }
    // SAFETY: blocks are allocated forever, and `index` is within the reservations of one.
    let reservation = unsafe block.pointee.reservations + index
    unsafe open(reservation, source | Reservation.deepFlag)
    return unsafe reservation
  }

  @inline(__always)
  private mutating func open(_ reservation: UnsafeMutablePointer<Reservation>, _ source: UInt) {
    depth &+= 1
    // Pairs with `collect`, which loads the source first: the next store publishes this one.
    unsafe reservation.pointee.upper.store(.max, ordering: .relaxed)
    // Pairs with `collect` and `isInside`: before the clock and the mask are loaded.
    unsafe reservation.pointee.source.store(source, ordering: .sequentiallyConsistent)
  }

  /// Closes the reservation that was opened last.
  ///
  /// - Returns: Whether something waits for its post, which then must call `reclaim`.
  @inline(__always)
  mutating func pop(_ reservation: UnsafeMutablePointer<Reservation>) -> Bool {
    depth &-= 1
    // Pairs with `collect`: what the post has read is read before a scan finds the reservation
    // closed. No more is needed: a scan sets its flag in this word too, so that either comes first.
    let source = unsafe reservation.pointee.source.exchange(0, ordering: .releasing)
    // One check of both flags.
    return source & Reservation.flags != 0 && finishPop(source)
  }

  @inline(never)
  private mutating func finishPop(_ source: UInt) -> Bool {
    if source & Reservation.deepFlag != 0, depth % ReservationBlock.capacity == 0 {
      unsafe block = ReservationBlock.close(block)
    }
    return source & Reservation.ticketFlag != 0
  }

  /// Whether the calling thread is inside an observer.
  var isInsidePost: Bool { depth > 0 }
}

/// Handing records out to threads, and finding the reservations of all of them.
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
  /// - Parameter slot: The slot for records, which the caller has at hand to save a look-up.
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

  /// The system's number for the calling thread.
  static var systemNumber: UInt64 { unsafe current.pointee.systemNumber }

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
      // No pair: the pool's lock orders all stores of a bucket.
      let next = unsafe UnsafeMutablePointer<SharedRecord>(
        bitPattern: head.pointee.load(ordering: .relaxed))
      let shared = UnsafeMutablePointer<SharedRecord>.allocate(capacity: 1)
      unsafe shared.initialize(to: SharedRecord(next: next))
      // Written by its thread at each post, hence on lines that nothing else stands on.
      let memory = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
      let record = unsafe memory.bindMemory(to: ThreadRecord.self, capacity: 1)
      unsafe record.initialize(to: ThreadRecord(bucket: bucket, shared: shared))
      // Pairs with `forEachReservation`: in place before the new owner's first announcement.
      unsafe head.pointee.store(UInt(bitPattern: shared), ordering: .sequentiallyConsistent)
      return UInt(bitPattern: record)
    }
    // SAFETY: the pool holds addresses of records, which are never freed.
    let record = unsafe UnsafeMutablePointer<ThreadRecord>(bitPattern: address)!
    unsafe record.pointee.post = 0
    unsafe record.pointee.nestedTime = 0
    unsafe record.pointee.systemNumber = Platform.threadNumber
    unsafe ThreadSlot.records.value = UnsafeMutableRawPointer(record)
    return unsafe record
  }

  /// Gives a record back; called when its thread ends.
  static func release(_ pointer: UnsafeMutableRawPointer?) {
    guard let pointer = unsafe pointer else { return }
    // SAFETY: as in `current(in:)`.
    let record = unsafe pointer.assumingMemoryBound(to: ThreadRecord.self)
    if unsafe record.pointee.depth > 0 {
      // What is released here may post: with this record, not with one that nobody gives back.
      unsafe ThreadSlot.records.value = pointer
      for post in unsafe record.pointee.popAll() { post.registry.reclaim(post.reservation) }
      unsafe ThreadSlot.records.value = nil
    }
    let address = UInt(bitPattern: pointer)
    pool.withLock { $0.free.append(address) }
  }

  /// Closes the reservations of posts whose thread has ended in an observer.
  ///
  /// - Returns: The posts that something waits for.
  private mutating func popAll() -> [(registry: ObserverRegistry, reservation: UInt)] {
    var waitedFor: [(registry: ObserverRegistry, reservation: UInt)] = []
    while depth > 0 {
      // SAFETY: `block` is the block of the innermost post.
      let reservation = unsafe block.pointee.reservations + (depth - 1) % ReservationBlock.capacity
      // No pair: the thread's own word, of which a scan changes nothing but the flag.
      let source = unsafe reservation.pointee.source.load(ordering: .relaxed) & ~Reservation.flags
      guard unsafe pop(reservation) else { continue }
      // SAFETY: a registry keeps itself for as long as posts have its tickets.
      let registry = unsafe Unmanaged<ObserverRegistry>
        .fromOpaque(UnsafeRawPointer(bitPattern: source)!).takeUnretainedValue()
      waitedFor.append((registry, UInt(bitPattern: reservation)))
    }
    return waitedFor
  }

  /// The calling thread's number, as `forEachReservation` gives it, if the thread has reservations.
  static var currentThread: UInt? {
    guard let record = unsafe ThreadSlot.records.value else { return nil }
    // SAFETY: as in `current(in:)`.
    return unsafe UInt(
      bitPattern: record.assumingMemoryBound(to: ThreadRecord.self).pointee.shared)
  }

  /// Calls `body` with each reservation of the threads with this bit, and with a number for the
  /// thread.
  ///
  /// The order is always the same, except for new threads.
  @inline(__always)
  static func forEachReservation(
    ofBit bit: Int,
    _ body: (_ reservation: UnsafeMutablePointer<Reservation>, _ thread: UInt) -> Void
  ) {
    // Pairs with `claim`: a post whose record is missed loads the clock after the scan stored it.
    var record = unsafe UnsafeMutablePointer<SharedRecord>(
      bitPattern: (heads + bit).pointee.load(ordering: .sequentiallyConsistent))
    while let current = unsafe record {
      unsafe current.pointee.forEachReservation { unsafe body($0, UInt(bitPattern: current)) }
      unsafe record = unsafe current.pointee.nextInBucket
    }
  }
}
