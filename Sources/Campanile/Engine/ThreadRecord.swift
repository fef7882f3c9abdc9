import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
#if os(Linux)
  import CampanileRuntime
#endif

/// The reservation of one post in progress, which is the part of it that other threads see.
///
/// The thread that posts writes the reservation; a thread that ends a registration reads it. `source` is
/// the address of the registry being posted to, or 0, with a flag in its lowest bit. While `source`
/// is set, `upperBound` bounds what the post may touch: no registration with a greater identifier, and
/// no structure created after it.
///
/// Reservations are never freed, so that a reader can hold the address of one without a lock. Scans
/// tell threads apart by the addresses of their outermost reservations.
@safe struct Reservation: ~Copyable {
  /// Set by a scan: something waits for the post to leave.
  static let ticketFlag: UInt = 1

  let source = Atomic<UInt>(0)
  let upperBound = Atomic<UInt64>(0)
  /// The address of the reservation for a nested post; 0 until the first post needs this one.
  fileprivate let inner = Atomic<UInt>(0)
  /// The outermost reservation of another thread with the same bit, if this one is outermost too.
  fileprivate let next: UnsafeMutablePointer<Reservation>?

  fileprivate static func make(
    next: UnsafeMutablePointer<Reservation>? = nil
  ) -> UnsafeMutablePointer<Reservation> {
    // Written at each post, and therefore on cache lines that hold nothing else.
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
    let reservation = unsafe memory.bindMemory(to: Reservation.self, capacity: 1)
    unsafe reservation.initialize(to: Reservation(next: next))
    return unsafe reservation
  }

  private init(next: UnsafeMutablePointer<Reservation>?) {
    unsafe self.next = unsafe next
  }

  /// The reservation for a post that is nested in this one, if there is one.
  fileprivate var nested: UnsafeMutablePointer<Reservation>? {
    borrowing get {
      // Pairs with `makeNested`: the scan stored the clock first.
      unsafe UnsafeMutablePointer(bitPattern: inner.load(ordering: .sequentiallyConsistent))
    }
  }

  @inline(never)
  fileprivate borrowing func makeNested() -> UnsafeMutablePointer<Reservation> {
    let new = unsafe Self.make()
    // Pairs with `nested`: before the nested post announces itself, so that a scan which misses it
    // has stored the clock before that post loads it.
    inner.store(UInt(bitPattern: new), ordering: .sequentiallyConsistent)
    return unsafe new
  }
}

/// A thread's record of its own posts.
///
/// A record belongs to one thread at a time, and no other thread touches it. A thread gets a record
/// at its first post, and gives it back when the thread ends. Then another thread can use it.
@safe struct ThreadRecord: ~Copyable {
  /// The outermost reservation.
  private let first: UnsafeMutablePointer<Reservation>
  /// The reservation for the next post.
  private var free: UnsafeMutablePointer<Reservation>
  /// The record's bit in a registry's mask of the threads that have posted; there are 64.
  let bit: UInt64
  /// The scope that the thread's code is part of, if a source has set one; the source keeps it
  /// alive.
  var scope: Unmanaged<AnyObject>?
  /// The time that calls nested in the running call have taken.
  var nestedNanoseconds: UInt64 = 0
  /// The mark of the thread, if anybody has asked for it; retained here.
  var mark: Unmanaged<ThreadMark>?

  private init(_ first: UnsafeMutablePointer<Reservation>, bit: UInt64) {
    unsafe (self.first, free) = (first, first)
    self.bit = bit
  }

  /// Whether the calling thread is inside an observer.
  var isInsidePost: Bool { unsafe free != first }

  /// Opens a reservation that names `source`, with an upper bound that bounds nothing yet.
  mutating func announce(_ source: UInt) -> UnsafeMutablePointer<Reservation> {
    let reservation = unsafe free
    unsafe free = unsafe reservation.pointee.nested ?? reservation.pointee.makeNested()
    // Pairs with `collect`, which loads the source first: the next store publishes this one.
    unsafe reservation.pointee.upperBound.store(.max, ordering: .relaxed)
    // Pairs with `forEachPost`: before the mask and the clock are loaded, and before a nested post is
    // announced.
    unsafe reservation.pointee.source.store(source, ordering: .sequentiallyConsistent)
    return unsafe reservation
  }

  /// Closes the reservation that was opened last.
  ///
  /// - Returns: Whether something waits for its post, which then must call `reclaim`.
  mutating func leave(_ reservation: UnsafeMutablePointer<Reservation>) -> Bool {
    unsafe free = unsafe reservation
    // Pairs with `collect`: what the post has read is read before a scan finds the reservation
    // closed. No more is needed: a scan sets its flag in this word too, so that either comes first.
    let source = unsafe reservation.pointee.source.exchange(0, ordering: .releasing)
    return source & Reservation.ticketFlag != 0
  }
}

/// Handing records out to threads, and finding the reservations of some of them.
extension ThreadRecord {
  /// For each bit, the outermost reservation of the newest record that has it; its chain of `next`
  /// has one of every such record.
  // SAFETY: made once, never freed, and what it points to is atomic.
  private nonisolated(unsafe) static let newest: UnsafeMutablePointer<Atomic<UInt>> = {
    let newest = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: UInt64.bitWidth)
    for index in 0..<UInt64.bitWidth { unsafe (newest + index).initialize(to: Atomic(0)) }
    return unsafe newest
  }()
  /// The addresses of the records that no thread has, and the number of all records.
  private static let pool = Locked<(free: [UInt], count: Int)>(([], 0))

  /// The calling thread's record.
  static var current: UnsafeMutablePointer<ThreadRecord> { unsafe current(in: .records) }

  /// The calling thread's record.
  ///
  /// - Parameter slot: The slot for records, which the caller has at hand to save a look-up.
  static func current(in slot: ThreadSlot) -> UnsafeMutablePointer<ThreadRecord> {
    unsafe existing(in: slot) ?? claim()
  }

  private static func existing(in slot: ThreadSlot) -> UnsafeMutablePointer<ThreadRecord>? {
    // SAFETY: the slot holds nothing but a record, which is never freed.
    unsafe slot.value?.assumingMemoryBound(to: ThreadRecord.self)
  }

  /// Whether the calling thread is inside an observer.
  static var isInsidePost: Bool { unsafe existing(in: .records)?.pointee.isInsidePost ?? false }

  /// The address by which scans know the calling thread, if the thread has reservations.
  static var addressInScans: UInt? {
    unsafe existing(in: .records).map { unsafe UInt(bitPattern: $0.pointee.first) }
  }

  @inline(never)
  private static func claim() -> UnsafeMutablePointer<ThreadRecord> {
    let address = pool.withLock { pool -> UInt in
      if let address = pool.free.popLast() { return address }
      let index = pool.count % UInt64.bitWidth
      pool.count += 1
      let newest = unsafe newest + index
      // No pair: the pool's lock orders all stores.
      let next = unsafe UnsafeMutablePointer<Reservation>(
        bitPattern: newest.pointee.load(ordering: .relaxed))
      let first = unsafe Reservation.make(next: next)
      // On lines of its own, as a reservation is.
      let memory = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
      let record = unsafe memory.bindMemory(to: ThreadRecord.self, capacity: 1)
      unsafe record.initialize(to: ThreadRecord(first, bit: 1 << UInt64(index)))
      // Pairs with `forEachPost`: in place before the new owner's first announcement.
      unsafe newest.pointee.store(UInt(bitPattern: first), ordering: .sequentiallyConsistent)
      return UInt(bitPattern: record)
    }
    // SAFETY: the pool holds addresses of records, which are never freed.
    let record = unsafe UnsafeMutablePointer<ThreadRecord>(bitPattern: address)!
    // The last owner may have ended in a scope.
    unsafe record.pointee.scope = nil
    unsafe record.pointee.nestedNanoseconds = 0
    unsafe ThreadSlot.records.value = UnsafeMutableRawPointer(record)
    return unsafe record
  }

  /// Gives a record back; called when its thread ends.
  ///
  /// A thread that ends inside an observer leaves its record there, since that post never ends.
  fileprivate static func release(_ pointer: UnsafeMutableRawPointer?) {
    guard let pointer = unsafe pointer else { return }
    // SAFETY: as in `existing`.
    let record = unsafe pointer.assumingMemoryBound(to: ThreadRecord.self)
    while let mark = unsafe record.pointee.mark.take() {
      // Its actions may post: with this record, not with one that would never be given back.
      unsafe ThreadSlot.records.value = pointer
      unsafe mark.takeRetainedValue().end()
      unsafe ThreadSlot.records.value = nil
    }
    if unsafe record.pointee.isInsidePost { return }
    let address = UInt(bitPattern: pointer)
    pool.withLock { $0.free.append(address) }
  }

  /// Calls `body` with each open reservation of the threads with these bits.
  ///
  /// It also passes what the source word was, the address by which scans know the thread, and the bit.
  /// A thread's reservations are read one after another, from the outermost to the first that is
  /// closed. No nested post is behind that one, and a later post loads the clock after it was stored.
  /// The order is always the same, except for new threads.
  static func forEachPost(
    of bits: UInt64,
    _ body: (
      _ reservation: UnsafeMutablePointer<Reservation>, _ source: UInt, _ thread: UInt,
      _ bit: UInt64
    ) -> Void
  ) {
    var bits = bits
    while bits != 0 {
      let index = bits.trailingZeroBitCount
      bits &= bits &- 1
      // Pairs with `claim`: a post whose record is missed loads the clock after the scan stored it.
      var thread = unsafe UnsafeMutablePointer<Reservation>(
        bitPattern: (newest + index).pointee.load(ordering: .sequentiallyConsistent))
      while let first = unsafe thread {
        var next = unsafe Optional(first)
        while let reservation = unsafe next {
          // Pairs with `announce`: the scan stored the clock first, and the post loads it later.
          let source = unsafe reservation.pointee.source.load(ordering: .sequentiallyConsistent)
          if source == 0 { break }
          unsafe body(reservation, source, UInt(bitPattern: first), 1 << UInt64(index))
          unsafe next = unsafe reservation.pointee.nested
        }
        unsafe thread = unsafe first.pointee.next
      }
    }
  }
}

/// A thread-local word: the address of an object that belongs to the thread.
///
/// It is a value, and every registry keeps a copy, because reading a global would cost a call at
/// each post.
struct ThreadSlot: Sendable {
  private let key: pthread_key_t

  /// The records of the threads that post.
  static let records = ThreadSlot()

  private init() {
    var key = pthread_key_t()
    let status = unsafe pthread_key_create(&key) { unsafe ThreadRecord.release($0) }
    require(status == 0, "The process has no thread-specific key left for Campanile")
    self.key = key
  }

  /// The calling thread's word in the slot, or `nil` at first.
  var value: UnsafeMutableRawPointer? {
    get { unsafe pthread_getspecific(key) }
    nonmutating set { unsafe pthread_setspecific(key, newValue) }
  }
}

/// The calling thread, and the part of the work that its code belongs to.
///
/// Safe access to the thread's record.
package enum CallingThread {
  /// The identifier of the thread, which no other living thread has; never 0.
  ///
  /// It is the address of the thread's record.
  package static var id: UInt { unsafe UInt(bitPattern: ThreadRecord.current) }

  /// The system's number for the thread, as debuggers and `ps` show it.
  static var systemNumber: UInt64 {
    #if canImport(Darwin)
      var number: UInt64 = 0
      unsafe pthread_threadid_np(nil, &number)
      return number
    #else
      return UInt64(gettid())
    #endif
  }

  // SAFETY: in these properties, the record is the thread's own, and no other thread uses the word.

  /// The time of the calls that are nested in the reported call which the thread makes.
  static var nestedNanoseconds: UInt64 {
    get { unsafe ThreadRecord.current.pointee.nestedNanoseconds }
    set { unsafe ThreadRecord.current.pointee.nestedNanoseconds = newValue }
  }

  /// Runs `body` with `scope` as the scope of the calling thread's code.
  package static func within<Scope: AnyObject, Result, Failure: Error>(
    _ scope: Scope, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let record = unsafe ThreadRecord.current
    let outer = unsafe record.pointee.scope
    unsafe record.pointee.scope = Unmanaged.passUnretained(scope)
    // SAFETY: the record is the thread's own, and `body` cannot leave the thread.
    defer {
      unsafe record.pointee.scope = outer
      // Kept until `body` has returned.
      extendLifetime(scope)
    }
    return try body()
  }

  /// The scope that the calling thread's code is part of, if any.
  package static var scope: AnyObject? {
    // SAFETY: the code that stored it keeps it until it restores the previous one.
    unsafe ThreadRecord.current.pointee.scope?.takeUnretainedValue()
  }
}
