import Synchronization

/// What a source's lists have in common: the clock, the lock, and who is posting.
///
/// ## Posts
///
/// A post takes no lock. It announces itself in a frame of its own thread, reads the clock (its
/// *watermark*), finds its lists, and calls the observers whose identifiers are at or below the
/// watermark. Leaving, it clears the frame and reads the clock again; if that says that somebody
/// waits for posts to leave, it looks whether that was the last one.
///
/// ## Changes
///
/// Everything that changes is changed under `state`'s lock. Identifiers are ticks of the clock, so
/// they ascend over all lists of a source and are never used twice. A new structure (a longer
/// buffer, another array of groups) gets a tick too, *before* it is published: a post whose mark is
/// lower cannot hold it.
///
/// ## Ends
///
/// What ends is taken out of its list first. Then a bit of the clock is set, and the frames are read.
/// A post stores its frame and then loads the clock; who ends something stores the clock and then
/// loads the frames. All four are sequentially consistent, so that one of the two sees the other:
/// either the frame is seen, and the post may still hold what ends, or the post has read the clock
/// as it was stored after the removal, and with that sees the removal too. What no post holds is
/// released at once, outside the lock; the rest waits in `retired` with tickets of the posts that
/// may hold it.
final class ObserverRegistry: @unchecked Sendable {
  /// Identifiers and creation times, which are even; and in the lowest bit, whether posts that leave
  /// are to look: while a scan runs, and while something waits for posts to leave.
  ///
  /// Written under the lock, or before anybody shares the registry. A time that was read with the bit
  /// stands for the same as without it: what has an even number at or below the one has it at or
  /// below the other.
  private let clock = Atomic<UInt64>(0)
  /// The bits of the threads that may be inside a post of this source.
  let mask = Atomic<UInt64>(0)
  private let state = Locked(State())
  let ownerLifetimes = LifetimeLookup()
  let subjectLifetimes = LifetimeLookup()
  private let slot = ThreadSlot.records
  private let onError: (@Sendable (ObserverFailure) -> Void)?
  let onEvent: (@Sendable (SourceEvent) -> Void)?
  /// Where tests hold the engine in mid-step.
  private let probe: (@Sendable (Checkpoint) -> Void)?

  /// Protected by the lock.
  struct State {
    var retired: [Retired] = []
    var waiters: [Waiter] = []
    /// The registrations of each owner.
    var owners: [ObjectIdentifier: OwnedRegistrations] = [:]
    /// The registrations with owners, which are looked at now and then.
    var ownerSweep = OwnerSweep()
    var isFinished = false
  }

  init(
    onError: (@Sendable (ObserverFailure) -> Void)? = nil,
    onEvent: (@Sendable (SourceEvent) -> Void)? = nil,
    probe: (@Sendable (Checkpoint) -> Void)? = nil
  ) {
    self.onError = onError
    self.onEvent = onEvent
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
    /// A registration has been taken out of its list and the frames have not been read.
    case willScan
    /// A scan has found nobody of a bit and has not forgotten the bit.
    case willForget
    /// The frames have been read for a removal, and the list may be moved to a smaller buffer.
    case willShrink
    /// A post has cleared its frame and not looked at what waits.
    case left
    /// A post or a canceler is about to take what nobody holds any more.
    case willReclaim
  }

  @inline(__always)
  func reach(_ checkpoint: Checkpoint) {
    #if DEBUG
      probe?(checkpoint)
    #endif
  }

  /// Tells whoever measures, if anybody does.
  ///
  /// Under no lock.
  @inline(__always)
  func note(
    _ kind: SourceEvent.Kind, _ valueType: @autoclosure () -> any Any.Type,
    _ location: @autoclosure () -> SourceLocation? = nil
  ) {
    if let onEvent { onEvent(SourceEvent(kind, valueType(), location())) }
  }

  // MARK: The clock

  private static let pendingBit: UInt64 = 1

  /// What the clock shows at its next step: the identifier of a registration that is being made, or
  /// the time of a new structure.
  private var nextTime: UInt64 { (clock.load(ordering: .relaxed) & ~Self.pendingBit) + 2 }

  /// Lets the clock show `time`.
  ///
  /// Under the lock. A post that reads the one finds the other: what got this identifier stands in its
  /// place by now.
  private func show(_ time: UInt64) {
    let pending = clock.load(ordering: .relaxed) & Self.pendingBit
    clock.store(time | pending, ordering: .releasing)
  }

  /// Advances the clock.
  ///
  /// Under the lock, or before anybody shares the registry.
  func tick() -> UInt64 {
    let time = nextTime
    show(time)
    return time
  }

  /// Tells posts that leave to look.
  ///
  /// Under the lock, and before the frames are read: a post that leaves unseen by that sees this.
  func setPending() {
    // Sequentially consistent: one side of both pairs with a post's frame. By it a post that is not
    // seen sees the stores before it too; so it is made also if the bit is set already.
    clock.store(clock.load(ordering: .relaxed) | Self.pendingBit, ordering: .sequentiallyConsistent)
  }

  /// Takes that back.
  ///
  /// Under the lock. A post that does not see it at once looks in vain.
  func clearPending() {
    clock.store(clock.load(ordering: .relaxed) & ~Self.pendingBit, ordering: .releasing)
  }
}

// MARK: - Posting

extension ObserverRegistry {
  /// A post in progress: its frame, and the newest registration it reaches.
  @safe struct Visit {
    fileprivate let record: UnsafeMutablePointer<ThreadRecord>
    fileprivate let frame: UnsafeMutablePointer<PostFrame>
    let watermark: UInt64
  }

  /// Announces a post.
  ///
  /// What is found in the lists from here on stays valid until `leave`.
  @inline(__always)
  func enter() -> Visit {
    let record = unsafe ThreadRecord.current(in: slot)
    let frame = unsafe record.pointee.push(address)
    // Sequentially consistent: a scan that cleared the bit reads the frames again afterwards.
    if unsafe mask.load(ordering: .sequentiallyConsistent) & record.pointee.bit == 0 {
      unsafe mask.bitwiseOr(record.pointee.bit, ordering: .sequentiallyConsistent)
    }
    reach(.announced)
    let watermark = clock.load(ordering: .sequentiallyConsistent)
    reach(.watermarked)
    return unsafe Visit(record: record, frame: frame, watermark: watermark)
  }

  /// Tells that the visit has found all its lists: what is made from now on is beyond its reach.
  @inline(__always)
  func settle(_ visit: Visit) {
    reach(.found)
    let now = clock.load(ordering: .acquiring)
    unsafe visit.frame.pointee.mark.store(now, ordering: .releasing)
    reach(.located)
  }

  /// Lets the visit find more; `settle` is to follow.
  func reopen(_ visit: Visit) {
    // Sequentially consistent, and followed by a load of the clock: one side of the pair with a scan,
    // as in `enter`.
    unsafe visit.frame.pointee.mark.store(.max, ordering: .sequentiallyConsistent)
    _ = clock.load(ordering: .sequentiallyConsistent)
  }

  /// Ends a visit, and releases what waited for it.
  @inline(__always)
  func leave(_ visit: Visit) {
    unsafe visit.record.pointee.pop(visit.frame)
    reach(.left)
    if clock.load(ordering: .sequentiallyConsistent) & Self.pendingBit != 0 { reclaim() }
  }

  /// Sees to what an observer threw: ends its registration if that was the request, else reports
  /// it.
  @inline(never)
  func handle(_ error: any Error, at location: SourceLocation, of registration: Registration) {
    if let over = error as? ObservationIsOver {
      end(registration)
      if let error = over.after {
        report(error, at: location, valueType: registration.list.topic.value)
      }
    } else {
      report(error, at: location, valueType: registration.list.topic.value)
    }
  }

  /// Tells the source's error handler, or standard error, that an observer threw.
  func report(_ error: any Error, at location: SourceLocation, valueType: any Any.Type) {
    let failure = ObserverFailure(error: error, valueType: valueType, location: location)
    if let onError {
      onError(failure)
    } else {
      Platform.writeToStandardError(failure.description)
    }
  }

  /// The newest identifier; a post that is limited to it reaches nobody who registers later.
  var now: UInt64 { clock.load(ordering: .acquiring) }
}

// MARK: - Registering

extension ObserverRegistry {
  /// Registers `observer` at the destination that `place` finds or makes, under the lock.
  ///
  /// - Returns: the registration, or `nil` when the source has finished.
  func add(
    _ observer: consuming AnyObserver, to place: (_ garbage: inout Garbage) -> Destination
  ) -> Registration? {
    add(observer, to: place) { _, _ in }
  }

  /// Registers an observer whose owner ends the registration.
  func add(
    _ observer: consuming AnyObserver, owner: any AnyObject & Sendable,
    to place: (_ garbage: inout Garbage) -> Destination
  ) -> Registration? {
    let living = checkOwners()
    let owner = ObjectIdentifier(owner)
    return add(observer, to: place) { registration, state in
      state.owners[owner, default: OwnedRegistrations()]
        .insert(registration.id, in: registration.list)
      for one in living { state.ownerSweep.keep(one) }
      state.ownerSweep.add(registration)
    }
  }

  @inline(__always)
  private func add(
    _ observer: consuming AnyObserver, to place: (_ garbage: inout Garbage) -> Destination,
    _ note: (Registration, inout State) -> Void
  ) -> Registration? {
    let location = observer.location
    if onEvent != nil { observer.markWatched() }
    // The list's from here on, without a change of the count.
    let observer = unsafe Unmanaged.passRetained(consume observer)
    var garbage = Garbage()
    let registration = withState { state -> Registration? in
      if state.isFinished { return nil }
      let registration = unsafe insert(observer, at: place(&garbage), &garbage)
      note(registration, &state)
      retire(garbage, &state)
      return registration
    }
    garbage = Garbage()
    guard let registration else {
      unsafe observer.release()
      return nil
    }
    self.note(.registered, registration.list.topic.value, location)
    return registration
  }

  private func insert(
    _ observer: Unmanaged<AnyObserver>, at destination: Destination, _ garbage: inout Garbage
  ) -> Registration {
    if case .about(let subject, let topic) = destination,
      let alone = unsafe insert(observer, alone: subject, topic, &garbage)
    {
      return alone
    }
    return unsafe destination.list(&garbage)._withUnsafeGuaranteedRef { list in
      list.makeRoom(&garbage)
      let id = nextTime
      unsafe list.append(observer, id: id)
      show(id)
      let counters = unsafe observer._withUnsafeGuaranteedRef { $0.details?.counters }
      return Registration(list: list, id: id, counters: counters)
    }
  }

  /// Puts an observer into the index itself, if nobody observes the subject yet.
  private func insert(
    _ observer: Unmanaged<AnyObserver>, alone subject: Unmanaged<AnyObject>,
    _ topic: Unmanaged<TopicList>, _ garbage: inout Garbage
  ) -> Registration? {
    guard unsafe observer._withUnsafeGuaranteedRef({ $0.mayStandAlone }) else { return nil }
    return unsafe topic._withUnsafeGuaranteedRef { topic in
      unsafe subject._withUnsafeGuaranteedRef { subject in
        guard topic.subjects.makeRoom(about: subject, &garbage) else { return nil }
        let id = nextTime
        unsafe topic.subjects.insert(observer, id: id, about: subject)
        show(id)
        return Registration(list: topic, id: id, companion: .subject(SubjectAddress(subject)))
      }
    }
  }

  /// Runs `body` under the lock.
  func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock(body)
  }

  /// Ends the registrations in `list` whose owners have died.
  func endDead(in list: ObserverList) {
    let suspects = withState { _ in list.registrations }
    for suspect in suspects where suspect.observer.details?.isOwnerGone == true {
      end(suspect.registration)
    }
  }

  /// Looks at the owners of some registrations, if it is time to, and ends those of the dead.
  ///
  /// Called at each registration with an owner. Owners are looked at outside the lock: looking can
  /// release one.
  ///
  /// - Returns: the registrations that live, to be looked at again.
  private func checkOwners() -> [Registration] {
    let checked = withState { $0.ownerSweep.step() }
    var living: [Registration] = []
    for one in checked {
      if one.observer.details?.isOwnerGone == true {
        end(one.registration)
      } else {
        living.append(one.registration)
      }
    }
    return living
  }
}
