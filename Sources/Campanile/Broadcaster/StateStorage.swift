import Synchronization

/// A value, its followers, and the changes that have not been delivered to them.
///
/// A current value keeps one storage, and ends its registrations when it is released. Until then
/// the details of a follower also keep the storage alive.
final class StateStorage<Value: Sendable>: Sendable {
  let registry: ObserverRegistry
  let list: ObserverList
  /// The value, and the state that decides which thread notifies.
  private let current: LockedPair<CurrentValueState, Value>
  /// The thread that runs `update`'s closure, or 0.
  private let updater = Atomic<UInt>(0)
  /// The number of followers that use old values.
  private let oldWishes = Atomic<Int>(0)

  /// A change, the request of a follower that resumes after a pause, or the end.
  ///
  /// An object, so that only its class, and no code that copies it, is made for each type of value.
  private final class Notice: Sendable {
    let change: ValueChange<Value>
    /// The newest follower that receives it.
    let limit: UInt64
    /// The only follower that receives it, if it is a request; `nil` for the end.
    let follower: Registration?
    /// The details of the set, if the events are observed or a context is carried; for a request,
    /// the context of the code that resumed the follower.
    let details: PostDetails?
    /// The thread that set the value.
    let setter = ThreadRecord.currentID
    /// Keeps `setAndWait` waiting until the change has been delivered or dropped.
    private let held: HeldDelivery?

    init(
      _ change: ValueChange<Value>, limit: UInt64 = .max, follower: Registration? = nil,
      details: PostDetails? = nil
    ) {
      self.change = change
      self.limit = limit
      self.follower = follower
      self.details = details
      held = details?.content.tracker.map { HeldDelivery($0) }
    }
  }

  /// How many changes of other threads a thread delivers before it offers the rest to the next
  /// thread that sets the value.
  static var foreignLimit: Int { 64 }

  init(_ value: Value, _ registry: ObserverRegistry) {
    self.registry = registry
    list = ObserverList(registry: registry, valueType: Value.self)
    current = LockedPair(CurrentValueState(), value)
  }

  deinit {
    // Something waits only if a thread has ended inside a follower.
    var left = RecordBuffer()
    current.withLock { state, _ in state.giveUp(&left) }
    left.discardAll()
  }

  // MARK: The value

  var value: Value {
    checkAccess()
    return withCurrent { $1 }
  }

  /// The value, and the revision of the set that stored it.
  var newest: (value: Value, revision: UInt64) {
    checkAccess()
    return withCurrent { ($1, $0.revision) }
  }

  func wishForOld(_ change: Int) {
    // No pair: an update whose thread knows of the follower reads this or a later number.
    oldWishes.wrappingAdd(change, ordering: .relaxed)
  }

  @inline(__always)
  func set(_ newValue: Value) {
    checkAccess()
    if ContextCarrier.isAnyInstalled {
      setInContext(newValue)
    } else {
      set(newValue, nil)
    }
  }

  func set(_ newValue: Value, skipping registration: Registration) {
    checkAccess()
    setInContext(newValue, skipping: registration)
  }

  @inline(never)
  @_optimize(size)
  private func setInContext(_ newValue: Value, skipping follower: Registration? = nil) {
    let context = ContextCarrier.isAnyInstalled ? PostContext.current : nil
    set(newValue, context, skipping: follower)
  }

  /// - Parameters:
  ///   - context: The context to restore if another thread delivers the change.
  ///   - follower: The follower to skip, if any.
  @inline(__always)
  private func set(
    _ newValue: Value, _ context: PostContext?, skipping follower: Registration? = nil
  ) {
    var other = newValue
    let skippedID = follower.map { registry.ownID(of: $0) } ?? 0
    let place = withCurrent { state, value -> Place? in
      swap(&value, &other)
      guard var place = enqueue(&state) else { return nil }
      place.skippedID = skippedID
      if place.turn != .first { keep(other, value, &place, context, nil, &state) }
      return place
    }
    // Without followers the old value is released here, after unlocking.
    guard let place else { return }
    if skippedID != 0, let follower { omit(newValue, place, for: follower) }
    if place.turn == .first { tell(other, newValue, place) } else { leave(newValue, place) }
  }

  /// Sets the value, for a caller that waits for the deliveries.
  @inline(never)
  @_optimize(size)
  func set(_ newValue: Value, tracked tracker: DeliveryTracker) {
    checkAccess()
    let context = ContextCarrier.isAnyInstalled ? PostContext.current : nil
    var other = newValue
    let place = withCurrent { state, value -> Place? in
      swap(&value, &other)
      guard var place = enqueue(&state) else { return nil }
      keep(other, value, &place, context, tracker, &state)
      return place
    }
    if let place { leave(newValue, place) }
  }

  func update<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    checkAccess()
    let context = ContextCarrier.isAnyInstalled ? PostContext.current : nil
    var made: (change: ValueChange<Value>, place: Place)?
    // Declared here, so that it is released after unlocking.
    var old: Value?
    defer {
      if let made {
        if made.place.turn == .first {
          tell(made.change, made.place)
        } else {
          leave(made.change.new, made.place)
        }
      }
    }
    let updates = ThreadUpdates()
    let isNested = updates.isInside
    if isNested { note(updates) }
    return try current.withLock { state, value in
      if isNested { updates.endWait() }
      // A second reference to the value would make `body` copy it.
      if oldWishes.load(ordering: .relaxed) > 0 { old = value }
      updater.store(updates.thread, ordering: .relaxed)
      updates.beginUpdate()
      defer {
        updates.endUpdate()
        updater.store(0, ordering: .relaxed)
        if var place = enqueue(&state) {
          let change = ValueChange(old: old, new: value, revision: place.revision)
          if place.turn != .first { keep(change, &place, context, nil, &state) }
          made = (change, place)
        }
      }
      return try body(&value)
    }
  }

  @inline(__always)
  private func checkAccess() {
    if updaterNow != 0 { checkUpdater() }
  }

  private var updaterNow: UInt { updater.load(ordering: .relaxed) }

  /// Runs `body` with the lock held.
  @inline(__always)
  private func withCurrent<Result: Sendable>(
    _ body: (inout sending CurrentValueState, inout Value) -> Result
  ) -> Result {
    current.withLock(whenTaken: { wait($0) }, body)
  }

  /// Waits for another thread, which may be updating the value.
  @inline(never)
  private func wait(_ wait: () -> Void) {
    let updates = ThreadUpdates()
    if updates.isInside { note(updates) }
    wait()
    if updates.isInside { updates.endWait() }
  }

  /// Records that a thread inside an update is about to wait for this value.
  @inline(never)
  private func note(_ updates: ThreadUpdates) {
    updates.beginWait { [self] in updaterNow }
    registry.reach(.waitsInsideUpdate)
  }

  @inline(never)
  private func checkUpdater() {
    registry.reach(.willAskForUpdater)
    // This thread's identifier before the updater's: a thread that has had none gets that of one that
    // has ended, which may have been the updater.
    let thread = ThreadRecord.currentID
    require(
      updaterNow != thread,
      "A current value was used inside its own update(_:), which has it exclusively")
  }

  // MARK: Telling

  /// Counts a change that has just been stored.
  ///
  /// - Returns: The place of the change, if there are followers.
  @inline(__always)
  private func enqueue(_ state: inout CurrentValueState) -> Place? {
    guard let turn = state.set(registry.isHeard(list)) else { return nil }
    // A follower that registers from here on begins with this value.
    return Place(revision: state.revision, limit: registry.now, turn: turn)
  }

  // These functions are separate because generic code looks up every type made of `Value` that a
  // function names, whether the call uses it or not.

  @inline(never)
  private func keep(
    _ old: Value, _ new: Value, _ place: inout Place, _ context: PostContext?,
    _ tracker: DeliveryTracker?, _ state: inout CurrentValueState
  ) {
    let change = ValueChange(old: old, new: new, revision: place.revision)
    keep(change, &place, context, tracker, &state)
  }

  @inline(never)
  private func keep(
    _ change: ValueChange<Value>, _ place: inout Place, _ context: PostContext?,
    _ tracker: DeliveryTracker?, _ state: inout CurrentValueState
  ) {
    var details = registry.makeDetails(context, skippedID: place.skippedID)
    if let tracker { details = Post(details: details).tracked(by: tracker).details }
    place.postNumber = details?.number ?? 0
    place.postNanoseconds = details?.nanoseconds ?? 0
    state.keep(Notice(change, limit: place.limit, details: details))
  }

  @inline(never)
  private func tell(_ old: Value, _ new: Value, _ place: Place) {
    tell(ValueChange(old: old, new: new, revision: place.revision), place)
  }

  /// Leaves a queued change to the notifying thread, which is this thread if no other is notifying.
  ///
  /// Reports the set here, where it was made.
  @inline(never)
  private func leave(_ new: Value, _ place: Place) {
    if place.postNumber != 0 {
      registry.noteSet(new, of: list.valueType, place.postNumber, at: place.postNanoseconds)
    }
    if place.turn != .others { goOn() }
  }

  /// Delivers a change, and the changes that are queued meanwhile.
  @inline(never)
  private func tell(_ change: ValueChange<Value>, _ place: Place) {
    if place.skippedID == 0 && !registry.isWatched {
      registry.post(change, Post(), to: list, in: 0...place.limit, .everyone)
    } else {
      tellChecked(change, Post().skipping(place.skippedID), limit: place.limit)
    }
    if !withCurrent({ state, _ in state.stop() }) { goOn() }
  }

  /// Delivers a change that is reported, or that skips a follower.
  ///
  /// Reports the new value, as `leave` does, and not the change.
  @inline(never)
  @_optimize(size)
  private func tellChecked(
    _ change: ValueChange<Value>, _ post: borrowing Post, limit: UInt64
  ) {
    let isReported = post.number == 0 && registry.isWatched
    let post = isReported ? registry.notePosted(change.new, of: list.valueType, post) : copy post
    registry.postChecked(change, post, to: list, limit: limit)
    if isReported { registry.notePostReturned(list.valueType, post) }
  }

  /// Delivers the queued changes, until none is left or another thread takes over.
  @inline(never)
  @_optimize(size)
  private func goOn() {
    let thread = ThreadRecord.currentID
    var foreignCount = 0
    while let notice = next() {
      let post = Post(details: notice.details)
      post.context.restore { deliver(notice, post) }
      if notice.setter == thread { continue }
      foreignCount += 1
      let (offers, rest) = foreignCount.quotientAndRemainder(dividingBy: Self.foreignLimit)
      if rest == 0, isRelieved(offers) { return }
    }
  }

  @inline(never)
  @_optimize(size)
  private func deliver(_ notice: Notice, _ post: borrowing Post) {
    if notice.change.isResumption {
      guard let follower = notice.follower else { return end() }
      registry.post(notice.change, onlyTo: follower, .resumption)
    } else if post.skippedID == 0 && !registry.isWatched {
      registry.post(notice.change, post, to: list, in: 0...notice.limit, .everyone)
    } else {
      tellChecked(notice.change, post, limit: notice.limit)
    }
  }

  /// The oldest queued change, or `nil` if there is none and the next set is delivered by its own
  /// thread.
  private func next() -> Notice? { withCurrent { state, _ in state.next() } }

  /// Offers the queued changes to the next thread that sets the value, between two changes.
  ///
  /// Only a thread that sets the value now can take the offer. No thread waits for another, and if
  /// no thread takes the offer, this one continues. Each offer that no thread takes makes the next
  /// one last longer, up to 64 microseconds. That is one microsecond for each change between two
  /// offers.
  ///
  /// - Parameter offers: The number of offers so far, including this one.
  /// - Returns: Whether another thread delivers the queue, or the queue is empty.
  private func isRelieved(_ offers: Int) -> Bool {
    withCurrent { state, _ in state.offer() }
    registry.reach(.willTakeBack)
    for _ in 0..<(1 << min(offers, 7)) { Platform.linger() }
    return !withCurrent { state, _ in state.takeBack() }
  }

  // MARK: The end

  /// Ends the followers, and the readers after the changes that were set before.
  @_optimize(size)
  func finish() {
    checkAccess()
    let isOnTheWay = withCurrent { state, value in
      if state.isIdle { return false }
      state.keep(Notice(.resumption(value)))
      return true
    }
    registry.finish([list], exceptReaders: isOnTheWay)
  }

  /// Ends the followers and the readers at once.
  @inline(never)
  @_optimize(size)
  func end() { registry.finish([list]) }

  // MARK: Pauses

  /// Drops the changes that a paused follower missed before a set that skips it.
  ///
  /// Here and not when the change is delivered: the follower may have resumed by then.
  @inline(never)
  @_optimize(size)
  private func omit(_ new: Value, _ place: Place, for follower: Registration) {
    guard let observer = registry.observer(of: follower),
      let missed = observer.details?.skipKeeper as? MissedChanges<Value>
    else { return }
    missed.omit(ValueChange(old: nil, new: new, revision: place.revision), for: observer)
  }

  /// Queues a request to deliver the missed changes to a resumed follower.
  ///
  /// The follower is called on its delivery, after the changes that were made before.
  @_optimize(size)
  func tellMissed(_ follower: Registration) {
    checkAccess()
    let context = ContextCarrier.isAnyInstalled ? PostContext.current : nil
    let details = registry.makeDetails(context, skippedID: 0)
    let turn = withCurrent { state, value in
      // Take the turn before enqueuing, so that this thread drains the request.
      let turn = state.takeTurn()
      state.keep(Notice(.resumption(value), follower: follower, details: details))
      return turn
    }
    if turn != .others { goOn() }
  }
}

/// The position of a change among the sets and among the followers.
private struct Place {
  let revision: UInt64
  let limit: UInt64
  let turn: CurrentValueState.Turn
  /// The follower to skip, or 0.
  var skippedID: UInt64 = 0
  /// The number and the time of a set that is kept and reported; else 0.
  var postNumber: UInt64 = 0
  var postNanoseconds: UInt64 = 0
}
