import Synchronization

/// The shared state of a source's lists: the clock, the lock, and the threads that post.
///
/// It implements epoch-based reclamation with per-thread reservations. `README.md` explains it.
///
/// All changes are made under the lock of `state`. Identifiers are ticks of the clock, so they ascend
/// over all lists of a source and are never used twice. A new structure, such as a longer buffer,
/// gets a tick *before* it is published. So a post with a lower upper bound cannot hold it.
final class ObserverRegistry: @unchecked Sendable {
  /// The newest identifier or creation time.
  private let clock = Atomic<UInt64>(0)
  /// The bits of the threads that have posted since a scan found them outside.
  let mask = Atomic<UInt64>(0)
  private let state = Locked(State())
  let ownerLifetimes = ConformanceCache()
  let subjectLifetimes = ConformanceCache()
  private let slot = ThreadSlot.records
  /// Whether the source's events have an observer; a post checks nothing else about them.
  private let reporting = Atomic<Bool>(false)
  /// The source's events and failures, created at the first use.
  let lazyReports = LazyReference<SourceReports>()
  /// The sources that this one is derived from, which report its failures too.
  let upstream: [ObserverRegistry]
  /// Whether the source is observed, as a state; made when `isObserved` is first read.
  let presence = LazyReference<PresenceHook>()
  /// Where tests hold the engine in mid-step.
  private let probe: (@Sendable (Checkpoint) -> Void)?

  /// The proof that the registry's lock is held, which the lock lends.
  typealias Held = Locked<State>.Held

  struct State {
    /// The retired objects that wait for posts to leave, by their tickets.
    var limbo: [LimboList] = []
    /// This registry, while posts have tickets: a thread that ends inside one gives its tickets back.
    var selfReference: ObserverRegistry?
    /// The registrations of each owner.
    var owners: [ObjectIdentifier: OwnedRegistrations] = .init()
    /// The registrations with owners, which are checked from time to time.
    var ownerSweep = OwnerSweep()
    var isFinished = false
    /// Whether the source's events take no observer any more.
    var areReportsFinished = false

    /// Notes a new registration of an owner, and those whose owners were found alive.
    fileprivate mutating func note(
      _ registration: Registration, of owner: ObjectIdentifier?, _ living: [Registration]
    ) {
      if let owner {
        owners[owner, default: OwnedRegistrations()]
          .insert(registration.id, in: registration.list)
      }
      for one in living { ownerSweep.keep(one) }
      ownerSweep.add(registration)
    }
  }

  /// - Parameter upstream: The sources that this one is derived from, which report its failures too.
  @inline(never)
  init(upstream: [ObserverRegistry] = [], probe: (@Sendable (Checkpoint) -> Void)? = nil) {
    self.upstream = upstream
    self.probe = probe
  }

  var address: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

  /// The steps at which a test can hold the engine.
  enum Checkpoint: Sendable, Hashable {
    /// A post has announced itself and not read the watermark.
    case announced
    /// A post has read the watermark and not found its lists.
    case watermarked
    /// A post has found its lists and not said so.
    case found
    /// A post has said that it found its lists.
    case located
    /// A post is about to check a registration.
    case willCheck
    /// A post has checked a registration and not entered the closure.
    case willCall
    /// A registration has been marked as ended and not taken out of its list.
    case willRemove
    /// A registration has been taken out of its list and the reservations have not been read.
    case willScan
    /// A scan has found a post, and not read the other reservations.
    case collected
    /// The reservations have been read for a removal, and the list may be moved to a smaller
    /// buffer.
    case willShrink
    /// A post has cleared its reservation and not given its tickets back.
    case left
    /// A post that has tickets, or a canceler, is about to take what no post holds any more.
    case willReclaim
    /// The thread that notifies the followers of a current value has offered its queue to others.
    case willTakeBack
    /// A thread that uses a current value has found that a thread updates it, and not which one.
    case willAskForUpdater
  }

  func reach(_ checkpoint: Checkpoint) {
    #if DEBUG
      probe?(checkpoint)
    #endif
  }

  /// Whether the source's events have an observer.
  var isReporting: Bool {
    // Pairs with `setReporting`, as the question whether a list is empty does with an addition.
    reporting.load(ordering: .sequentiallyConsistent)
  }

  /// Sets whether the source's events have an observer.
  ///
  /// - Parameter held: The lock of the events' own registry.
  func setReporting(_ isReporting: Bool, _ held: borrowing Held) {
    // Pairs with `isReporting`: before the later loads of the thread that registers.
    reporting.store(isReporting, ordering: .sequentiallyConsistent)
  }

  /// The next time of the clock: the identifier of a registration that is being made, or the time
  /// of a new structure.
  ///
  /// Asked under the lock, and shown there.
  private var nextTime: UInt64 {
    // No pair: the lock orders all stores of the clock.
    clock.load(ordering: .relaxed) + 1
  }

  /// Lets the clock show `time`.
  ///
  /// A registration with this time is already in its place, so a post that reads the time finds it. A
  /// structure is published after its time is shown.
  private func show(_ time: UInt64, _ held: borrowing Held) {
    // Pairs with `enter` and `narrow`: a registration that got this time is in its place.
    clock.store(time, ordering: .releasing)
  }

  /// Advances the clock.
  func tick(_ held: borrowing Held) -> UInt64 {
    let time = nextTime
    show(time, held)
    return time
  }

  /// Stores the clock again, for posts that a scan does not see.
  ///
  /// Call it after the ended objects were taken out, and before the reservations are read.
  func storeClockAgain(_ held: borrowing Held) {
    // Pairs with `enter`: a post that the scan misses reads this store or a later one, and with it
    // all earlier stores. The lock orders the load with the other stores.
    clock.store(clock.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
  }
}

// MARK: - Posting

extension ObserverRegistry {
  /// A post in progress, which is a read-side critical section: its reservation, and the newest
  /// registration it reaches.
  @safe struct CriticalSection {
    fileprivate let record: UnsafeMutablePointer<ThreadRecord>
    fileprivate let reservation: UnsafeMutablePointer<Reservation>
    let watermark: UInt64
  }

  /// Begins the critical section of a post: announces it.
  ///
  /// Objects found in the lists from here on stay valid until `exit`.
  ///
  /// - Parameter limit: The newest registration that the post may reach. A post that asks several
  ///   lists whether they have observers takes it from `now` before it asks.
  @inline(__always)
  func enter(upTo limit: UInt64 = .max) -> CriticalSection {
    let record = unsafe ThreadRecord.current(in: slot)
    let reservation = unsafe record.pointee.announce(address)
    // Pairs with `scan`, which clears the bit before it reads the reservation.
    if unsafe mask.load(ordering: .sequentiallyConsistent) & record.pointee.bit == 0 {
      // Pairs with `scan`: before the clock is loaded, which a scan that misses the bit has stored.
      unsafe mask.bitwiseOr(record.pointee.bit, ordering: .sequentiallyConsistent)
    }
    reach(.announced)
    // Pairs with `storeClockAgain`, after the reservation is stored; and with `show`.
    let watermark = min(limit, clock.load(ordering: .sequentiallyConsistent))
    reach(.watermarked)
    return unsafe CriticalSection(record: record, reservation: reservation, watermark: watermark)
  }

  /// Narrows the reservation of a section that has found all its lists: what is made from now on is
  /// beyond its reach.
  func narrow(_ section: CriticalSection) {
    reach(.found)
    // Pairs with `show`: what is made after this load has a greater time.
    let now = clock.load(ordering: .acquiring)
    // Pairs with `collect`: everything has been found before a scan reads this bound.
    unsafe section.reservation.pointee.upperBound.store(now, ordering: .releasing)
    reach(.located)
  }

  /// Widens the reservation, for a section that is to find more; `narrow` is to follow.
  func widen(_ section: CriticalSection) {
    // Pairs with `collect`: before the clock is loaded, so that a post whose bound a scan reads as it
    // was before loads the clock as that scan has stored it.
    unsafe section.reservation.pointee.upperBound.store(.max, ordering: .sequentiallyConsistent)
    // Pairs with `storeClockAgain`, as in `enter`.
    _ = clock.load(ordering: .sequentiallyConsistent)
  }

  /// Ends a critical section, and releases what waited for it.
  func exit(_ section: CriticalSection) {
    let isWaitedFor = unsafe section.record.pointee.leave(section.reservation)
    reach(.left)
    if isWaitedFor { unsafe reclaim(UInt(bitPattern: section.reservation)) }
  }

  /// Ends the observations of the source's events and failures, because the source is released.
  ///
  /// Later ones are refused.
  func finishReports() {
    withState { $0.areReportsFinished = true }
    lazyReports.load()?.finish()
    presence.load()?.finish()
  }

  /// The newest identifier; a post that is limited to it does not reach a later registration.
  var now: UInt64 {
    // Pairs with `show`, as the question whether a list is empty does with an addition.
    clock.load(ordering: .sequentiallyConsistent)
  }
}

// MARK: - Registering

extension ObserverRegistry {
  /// Registers `observer` in the list that `find` finds or makes, under the lock.
  ///
  /// - Parameters:
  ///   - isSwept: Whether the observer has an owner, which is checked from time to time.
  ///   - owner: The owner, if the registration is also to be found by its identity.
  /// - Returns: The registration, or `nil` if the source has finished.
  // Apart: this is long, and called from many places.
  @inline(never)
  func add(
    _ observer: consuming AnyObserver, isSwept: Bool = false, owner: ObjectIdentifier? = nil,
    to find: (_ garbage: inout Garbage, _ held: borrowing Held) -> ObserverList
  ) -> Registration? {
    // Each registration with an owner checks some others, if it is time to.
    let living = isSwept ? endDead(withState { $0.ownerSweep.step($1) }) : []
    let location = observer.location
    // The list's from here on, without a change of the count.
    let observer = unsafe Unmanaged.passRetained(consume observer)
    var garbage = Garbage()
    let registration = withState { state, held -> Registration? in
      if state.isFinished { return nil }
      let registration = unsafe insert(observer, in: find(&garbage, held), &garbage, held)
      if isSwept { state.note(registration, of: owner, living) }
      retire(garbage, &state, held)
      return registration
    }
    garbage = Garbage()
    guard let registration else {
      unsafe observer.release()
      return nil
    }
    noteRegistered(registration, location)
    return registration
  }

  // Apart: it is part of every copy of the above.
  @inline(never)
  private func insert(
    _ observer: Unmanaged<AnyObserver>, in list: ObserverList, _ garbage: inout Garbage,
    _ held: borrowing Held
  ) -> Registration {
    list.makeRoom(&garbage, held)
    let id = nextTime
    unsafe list.append(observer, id: id, held)
    show(id, held)
    return unsafe observer._withUnsafeGuaranteedRef { $0.registration(id, in: list) }
  }

  /// Runs `body` under the lock.
  func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock { body(&$0) }
  }

  /// Runs `body` under the lock, and lends it the proof that the lock is held.
  func withState<Result: Sendable>(_ body: (inout State, borrowing Held) -> Result) -> Result {
    state.withLock { body(&$0, $1) }
  }

  /// Ends the registrations in `list` whose owners have died.
  @inline(never)
  func endDead(in list: ObserverList) {
    endDead(withState { _, held in ObserverList.members(of: list.parts(held), held) })
  }

  /// Ends the registrations whose owners have died, under no lock, because the question can release
  /// an owner.
  ///
  /// - Returns: The others.
  @discardableResult
  func endDead(_ suspects: [LiveRegistration]) -> [Registration] {
    var living: [Registration] = []
    for one in suspects {
      if one.observer.details?.isOwnerGone == true {
        end(one.registration)
      } else {
        living.append(one.registration)
      }
    }
    return living
  }
}
