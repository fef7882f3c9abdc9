import Synchronization

/// A value, its followers, and the changes that have not been delivered to them.
///
/// A current value keeps one storage, and ends its registrations when it is released. Until then
/// the details of an observer also keep the storage alive.
///
/// - Note: `Update` is always `StateUpdate<Value>`. As a parameter of the class, it is not looked up
///   for each set, which takes as long as the set.
final class StateStorage<Value: Sendable, Update: StateUpdating>: Sendable
where Update.Value == Value {
  let registry: ObserverRegistry
  let list: ObserverList
  private let current: LockedPair<StateHead, Value>
  /// The thread that runs `update`'s closure, or 0.
  private let updater = Atomic<UInt>(0)

  init(_ value: Value, _ registry: ObserverRegistry) {
    self.registry = registry
    list = ObserverList(registry: registry, valueType: Value.self)
    current = LockedPair(StateHead(), value)
  }

  // MARK: The value

  var value: Value { withCurrent { $1 } }

  var newest: Update { withCurrent { Update(value: $1, revision: $0.revision) } }

  // Not inlined, where the type of the updates would have to be looked up, and compiled once instead
  // of once for each type of value, which made a client 2 % larger.
  /// - Parameter tracker: Waits for the deliveries.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func set(_ newValue: Value, trackedBy tracker: DeliveryTracker? = nil) {
    if tracker == nil && !PostContext.isCarried { return set(newValue, nil, nil) }
    setInContext(newValue, tracker)
  }

  @inline(never)
  private func setInContext(_ newValue: Value, _ tracker: DeliveryTracker?) {
    set(newValue, context, tracker)
  }

  @inline(__always)
  private func set(_ newValue: Value, _ context: PostContext?, _ tracker: DeliveryTracker?) {
    var other = newValue
    let place = withCurrent { head, value -> Place? in
      swap(&value, &other)
      return self.place(value, context, tracker, &head)
    }
    // The old value is released after unlocking.
    if let place { tell(newValue, place) }
    _ = consume other
  }

  /// The context to restore where another thread delivers an update.
  private var context: PostContext? {
    PostContext.isCarried ? PostContext.current : nil
  }

  /// The details to keep of what another thread may deliver, if there are any.
  private func details(in context: PostContext?) -> PostDetails? {
    context == nil && !registry.isReporting ? nil : registry.makeDetails(context)
  }

  func update<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    checkAccess()
    let context = context
    var made: (value: Value, place: Place)?
    defer { if let made { tell(made.value, made.place) } }
    let thread = CallingThread.id
    return try current.withLock { head, value in
      updater.store(thread, ordering: .relaxed)
      defer {
        updater.store(0, ordering: .relaxed)
        if let place = place(value, context, nil, &head) { made = (value, place) }
      }
      return try body(&value)
    }
  }

  private func checkAccess() {
    if updater.load(ordering: .relaxed) != 0 { checkUpdater() }
  }

  /// Runs `body` with the lock held.
  @inline(__always)
  private func withCurrent<Result: Sendable>(
    _ body: (inout sending StateHead, inout Value) -> Result
  ) -> Result {
    checkAccess()
    return current.withLock { body(&$0, &$1) }
  }

  @inline(never)
  private func checkUpdater() {
    registry.reach(.willAskForUpdater)
    // This thread's identifier before the updater's: a thread that has had none gets that of one that
    // has ended, which may have been the updater.
    let thread = CallingThread.id
    require(
      updater.load(ordering: .relaxed) != thread,
      "A current value was used inside its own update(_:), which has it exclusively")
  }

  // MARK: Telling

  /// Takes the turn for a change that has just been stored, or adds it to those that wait.
  ///
  /// - Returns: The place of the change; `nil` if it is delivered to nobody.
  @inline(__always)
  private func place(
    _ value: Value, _ context: PostContext?, _ tracker: DeliveryTracker?, _ head: inout StateHead
  ) -> Place? {
    head.revision &+= 1
    if head.turn.isIdle && !registry.isHeard(list) { return nil }
    // A follower that registers from here on begins with this value.
    var place = Place(revision: head.revision, limit: registry.now)
    if tracker == nil && head.turn.begin() {
      place.isFirst = true
    } else {
      addCall(value, &place, context, tracker, &head)
    }
    return place
  }

  // These functions are separate because generic code looks up every type made of `Value` that a
  // function names, whether the call uses it or not.

  /// Adds the delivery of a change to those that wait for their turn.
  @inline(never)
  private func addCall(
    _ value: Value, _ place: inout Place, _ context: PostContext?, _ tracker: DeliveryTracker?,
    _ head: inout StateHead
  ) {
    var details = details(in: context)
    if let tracker { details = Post(details: details).tracked(by: tracker).details }
    place.details = details
    let update = Update(value: value, revision: place.revision)
    // Keeps `setAndWait` waiting until the change has been delivered or dropped.
    let held = tracker.map { HeldDelivery($0) }
    // The thread that makes the call keeps the storage.
    head.turn.add { [unowned self, limit = place.limit, details] in
      let post = Post(details: details)
      post.context.restore { tell(update, post, limit: limit) }
      withExtendedLifetime(held) {}
    }
  }

  /// Delivers a change, and what is added meanwhile, or leaves it to the thread that has the turn.
  @inline(never)
  private func tell(_ new: Value, _ place: Place) {
    if !place.isFirst { return leave(new, place) }
    tell(Update(value: new, revision: place.revision), Post(), limit: place.limit)
    // Not by `end()`, a call that would be three per cent of a set.
    if !withCurrent({ head, _ in head.turn.end() }) { makeCalls(isMine: true) }
  }

  /// Reports a set, where it was made, and delivers what waits, unless another thread does.
  @inline(never)
  private func leave(_ new: Value, _ place: Place) {
    if let details = place.details {
      registry.noteSet(new, of: list.valueType, Post(details: details))
    }
    makeCalls()
  }

  @inline(__always)
  private func tell(_ update: Update, _ post: borrowing Post, limit: UInt64) {
    if registry.isReporting {
      // The new value is reported, as by `leave`, and not the update.
      let value = update.value
      registry.postReporting(update, reporting: value, post, to: list, upTo: limit)
    } else {
      registry.post(update, post, to: list, upTo: limit, checked: false)
    }
  }

  @inline(never)
  private func makeCalls(isMine: Bool = false) {
    Turn.makeCalls(isMine: isMine, willTakeBack: { registry.reach(.willTakeBack) }) { body in
      withCurrent { head, _ in body(&head.turn) }
    }
  }

  // MARK: Computed changes

  /// Begins a turn, if nothing is ahead of it.
  ///
  /// - Returns: Whether the turn has begun. If so, `end()` must follow.
  func begin() -> Bool { withCurrent { head, _ in head.turn.begin() } }

  /// Makes the calls that were added during the turn, and ends it.
  func end() {
    if !withCurrent({ head, _ in head.turn.end() }) { makeCalls(isMine: true) }
  }

  /// Makes a call in its turn and in the context of a post, whose caller waits for it.
  func inTurn(_ post: Post, _ call: @escaping () -> Void) {
    let held = post.hold()
    withCurrent { head, _ in
      head.turn.add {
        post.context.restore(around: call)
        withExtendedLifetime(held) {}
      }
    }
    makeCalls()
  }

  /// Stores a value, and delivers the change, in the turn of this thread.
  func store(_ newValue: Value, trackedBy tracker: DeliveryTracker?) {
    var other = newValue
    let (revision, limit) = withCurrent { head, value in
      swap(&value, &other)
      head.revision &+= 1
      // A follower that registers from here on begins with this value.
      return (head.revision, registry.now)
    }
    let post = tracker == nil ? Post() : Post().tracked(by: tracker)
    tell(Update(value: newValue, revision: revision), post, limit: limit)
  }

  // MARK: The end

  /// Refuses later observers, and ends the others after the changes that were set before.
  ///
  /// - Parameter isReleased: Whether the observers of the reports end, too.
  @_semantics("optimize.sil.specialize.generic.never")
  func finish(isReleased: Bool = false) {
    registry.withState { $0.isFinished = true }
    inTurn(Post()) { [registry, list] in
      registry.finish([list])
      if isReleased { registry.finishReports() }
    }
  }

  // MARK: Observers

  /// Registers an observer that `following` has wrapped, or one of all updates.
  ///
  /// - Returns: The registration; with the identifier 0 if the state has finished.
  func register(
    _ request: consuming ObservationRequest, _ following: Following<Value>?,
    _ body: consuming ObserverBody<Update>
  ) -> Registration {
    request.onResume = { [self] in tellNewest(to: $0) }
    let registration = list.register(request, body)
    guard let following, registration.id != 0 else { return registration }
    if following.isInitial {
      tellNewest(to: registration)
    } else if following.beginsSilently {
      withCurrent { head, value in following.begin(with: value, head.revision) }
    }
    return registration
  }

  /// Queues the newest value for an observer that begins or resumes.
  ///
  /// The observer is called on its delivery, after the changes that were made before.
  private func tellNewest(to registration: Registration) {
    let details = details(in: context)
    withCurrent { head, value in
      let update = Update(value: value, revision: head.revision)
      head.turn.add { [registry] in
        Post(details: details).context.restore { registry.post(update, onlyTo: registration) }
      }
    }
    makeCalls()
  }
}

/// What is known of a value without its type.
private struct StateHead: ~Copyable {
  /// The number of the value: 1 for the first, and one more for each set.
  var revision: UInt64 = 1
  /// Which thread delivers the changes.
  var turn = Turn()
}

/// The position of a change among the sets and among the followers.
private struct Place {
  let revision: UInt64
  /// The newest observer that receives it.
  let limit: UInt64
  /// Whether the thread that made the change has the turn.
  var isFirst = false
  /// What the post carries, if the change waits for its turn.
  var details: PostDetails?
}
