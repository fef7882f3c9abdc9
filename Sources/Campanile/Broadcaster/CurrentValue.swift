import Synchronization

/// One state that any number of followers keep up with.
///
/// ```swift
/// private let state = CurrentValue(false)
/// var isPlaying: some FollowableValue<Bool> { state }
///
/// player.isPlaying.observe(owner: button, on: .main, .initial) { button, change in
///   button.isSelected = change.new
/// }
/// state.value = true
/// ```
///
/// ## Behavior
///
/// The value can be read and set from any thread, and from inside a follower. Notifications of one
/// value come one after the other: a set that is made while followers are being told stores the
/// value and returns, and is told next by the thread that tells. For an immediate follower that
/// means "on a setter's thread". No change is left out and none is told twice, and the last change
/// that a follower sees carries the newest value.
///
/// Setting an equal value is a change like any other; followers that asked for `.distinct` are
/// spared it. The observations end with the object.
public final class CurrentValue<Value: Sendable>: FollowableValue {
  /// What followers are given.
  public typealias Element = ValueChange<Value>
  /// What can be asked of an observation.
  public typealias Options = FollowingOptions<Value>

  private let registry: ObserverRegistry
  private let list: ObserverList
  /// The value, whose lock protects the three that follow.
  private let current: Locked<Value>
  /// Counts the sets.
  private let revision = Atomic<UInt64>(0)
  /// Whether a thread tells changes, and goes on with those that wait.
  private let isTelling = Atomic<Bool>(false)
  private let isAnyWaiting = Atomic<Bool>(false)
  /// The changes that the thread which tells has not come to.
  private let waiting = Locked<[Notice]>([])
  /// The thread that runs `update`'s closure, or 0.
  private let updater = Atomic<UInt>(0)

  /// A change, and the newest follower that is to hear it.
  private struct Notice: Sendable {
    let change: ValueChange<Value>
    let limit: UInt64
  }

  /// Creates a state.
  ///
  /// - Parameters:
  ///   - value: The first value.
  ///   - onError: Called with what a follower throws, on the thread where it threw. Without it, one
  ///     line goes to standard error.
  ///   - onEvent: Called with what happens at the source, for measuring; see ``SourceEvent``.
  public init(
    _ value: Value, onError: (@Sendable (ObserverFailure) -> Void)? = nil,
    onEvent: (@Sendable (SourceEvent) -> Void)? = nil
  ) {
    registry = ObserverRegistry(onError: onError, onEvent: onEvent)
    list = ObserverList(
      registry: registry, topic: .init(value: Value.self, subject: nil))
    current = Locked(value)
  }

  deinit { finish() }

  // MARK: The value

  /// The value now.
  ///
  /// Setting it tells the followers.
  ///
  /// Reading or setting it inside ``update(_:)`` of the same object is a precondition failure.
  public var value: Value {
    get {
      checkAccess()
      return current.withLock { $0 }
    }
    set {
      checkAccess()
      var other = newValue
      let place = current.withLock { value -> Place? in
        swap(&value, &other)
        let (place, isMine) = enqueue()
        if let place, !isMine { keep(other, value, place) }
        return isMine ? place : nil
      }
      // The old value goes with this, if nobody is told it, and not under the lock.
      if let place { tell(other, newValue, place) }
    }
  }

  /// Changes the value in place, with every other reader and writer waiting, then tells the
  /// followers.
  ///
  /// The closure must be short. Using this object inside it is a precondition failure, also in the
  /// deinit of something in the value that the closure lets go of. If it throws, what it did to the
  /// value stays, and is told.
  ///
  /// - Returns: What `body` returns.
  @discardableResult
  public func update<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    checkAccess()
    var told: (change: ValueChange<Value>, place: Place)?
    // Out here, so that it does not go under the lock.
    var old: Value?
    defer { if let told { tell(told.change, told.place) } }
    return try current.withLock { value in
      // Without followers nobody wants the old value, and a copy of it would make `body` copy too.
      if !list.isEmpty { old = value }
      updater.store(ThreadRecord.currentID, ordering: .relaxed)
      defer {
        updater.store(0, ordering: .relaxed)
        let (place, isMine) = enqueue()
        if let place {
          let change = ValueChange(old: old, new: value, revision: place.revision)
          if isMine { told = (change, place) } else { keep(change, place) }
        }
      }
      return try body(&value)
    }
  }

  private func checkAccess() {
    let updater = updater.load(ordering: .relaxed)
    precondition(
      updater == 0 || updater != ThreadRecord.currentID,
      "A current value was used inside its own update(_:), which has it exclusively")
  }

  // MARK: Telling

  /// Counts a change that has just been stored.
  ///
  /// Under the lock.
  ///
  /// - Returns: The place of the change, if anybody hears it, and whether the caller is to tell it;
  ///   else it is to be kept for the thread that tells.
  @inline(__always)
  private func enqueue() -> (Place?, isMine: Bool) {
    let revision = revision.load(ordering: .relaxed) &+ 1
    self.revision.store(revision, ordering: .relaxed)
    let isTelling = isTelling.load(ordering: .relaxed)
    if !isTelling && !registry.isHeard(list) { return (nil, false) }
    if !isTelling { self.isTelling.store(true, ordering: .relaxed) }
    // Who registers from here on has this value already.
    return (Place(revision: revision, limit: registry.now), !isTelling)
  }

  // What follows is apart from the setter and from each other because a function looks up the types
  // made of `Value` that it names, whether it comes to use them or not.

  @inline(never)
  private func keep(_ old: Value, _ new: Value, _ place: Place) {
    keep(ValueChange(old: old, new: new, revision: place.revision), place)
  }

  private func keep(_ change: ValueChange<Value>, _ place: Place) {
    waiting.withLock { $0.append(Notice(change: change, limit: place.limit)) }
    isAnyWaiting.store(true, ordering: .relaxed)
  }

  @inline(never)
  private func tell(_ old: Value, _ new: Value, _ place: Place) {
    tell(ValueChange(old: old, new: new, revision: place.revision), place)
  }

  /// Tells a change, and those that come meanwhile.
  @inline(__always)
  private func tell(_ change: ValueChange<Value>, _ place: Place) {
    registry.post(change, Post(), to: list, limit: place.limit)
    while !stopTelling() { tellWaiting() }
  }

  @inline(never)
  private func tellWaiting() {
    let notices = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for notice in notices {
      registry.post(notice.change, Post(), to: list, limit: notice.limit)
    }
  }

  /// Lets the next set be told by its own thread, if no change waits.
  @inline(__always)
  private func stopTelling() -> Bool {
    current.withLock { _ in
      if isAnyWaiting.exchange(false, ordering: .relaxed) { return false }
      isTelling.store(false, ordering: .relaxed)
      return true
    }
  }

  // MARK: Following

  /// Ends every observation of this source that `owner` bounds.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    registry.endAll(ownedBy: owner) { _ in true }
  }

  /// Ends every observation and every sequence; what comes later is refused.
  ///
  /// The value can still be read and set. A second call does nothing.
  public func finish() {
    registry.finish { [list] }
  }

  /// How many observations have not ended.
  ///
  /// Those of an owner that has died do not count.
  ///
  /// - Complexity: O(*n* log *n*).
  public var observerCount: Int { registrations.count }

  /// The live observations, oldest first, for debugging.
  public var registrations: [RegistrationDescription] { registry.describe { [list] } }

  /// Registers a follower.
  ///
  /// Not for direct use: call `observe`.
  public func _register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<ValueChange<Value>>,
    _ options: FollowingOptions<Value>
  ) -> Registration? {
    if options.isPlain { return request.register(body, with: registry) { _ in .list(list) } }
    let follower = Follower(
      options, isImmediate: body.isImmediate(request.delivery), request.location, registry
    ) { [weak self] in
      guard let self else { return nil }
      return current.withLock { ($0, self.revision.load(ordering: .relaxed)) }
    }
    let registration = request.register(follower.wrap(body), with: registry) { _ in .list(list) }
    follower.bind(to: registration)
    if options.isInitial, let registration {
      registry.post(ValueChange<Value>.initialRequest(value), onlyTo: registration)
      follower.noteRequest()
    }
    return registration
  }

  /// Finds the source later, and does not keep it.
  ///
  /// Not for direct use.
  public var _reference: @Sendable () -> CurrentValue? { { [weak self] in self } }

  /// A registration that has ended.
  ///
  /// Not for direct use.
  public var _ended: Registration { Registration(list: list, id: 0, counters: nil) }
}

/// Where a change stands among the sets and among the followers.
private struct Place {
  let revision: UInt64
  let limit: UInt64
}

extension CurrentValue: CustomStringConvertible {
  /// The value and the live observations, a line each.
  public var description: String {
    registrations.reduce("CurrentValue \(value)") { $0 + "\n  " + $1.description }
  }
}
