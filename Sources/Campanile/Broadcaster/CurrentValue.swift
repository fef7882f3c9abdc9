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
/// value come one after the other: a set that is made while followers are being told stores the value
/// and returns, and is told next by the thread that tells. For an immediate follower that means "on
/// a setter's thread". No change is left out and none is told twice, and the last change that a
/// follower sees carries the newest value.
///
/// Setting an equal value is a change like any other; followers that asked for `.distinct` are spared
/// it. The observations end with the object.
public final class CurrentValue<Value: Sendable>: FollowableValue {
  /// What followers are given.
  public typealias Element = ValueChange<Value>
  /// What can be asked of an observation.
  public typealias Options = FollowingOptions<Value>

  private let registry: ObserverRegistry
  private let list: ObserverList
  private let state: Locked<State>
  /// The thread that runs `update`'s closure, or 0.
  private let updater = Atomic<UInt>(0)

  /// Protected by the lock.
  private struct State {
    var value: Value
    /// Counts the sets.
    var revision: UInt64 = 0
    /// The changes that the thread which tells has not come to.
    var waiting: [Notice] = []
    var isTelling = false
  }

  /// A change, and the newest follower that is to hear it.
  private struct Notice {
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
    state = Locked(State(value: value))
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
      return state.withLock { $0.value }
    }
    set {
      checkAccess()
      let notice = state.withLock { state -> Notice? in
        let old = state.value
        state.value = newValue
        return enqueue(old, &state)
      }
      if let notice { tell(notice) }
    }
  }

  /// Changes the value in place, with every other reader and writer waiting, then tells the followers.
  ///
  /// The closure must be short. Using this object inside it is a precondition failure. If it throws,
  /// what it did to the value stays, and is told.
  ///
  /// - Returns: What `body` returns.
  @discardableResult
  public func update<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    checkAccess()
    var notice: Notice?
    defer { if let notice { tell(notice) } }
    return try state.withLock { state in
      // Without followers nobody wants the old value, and a copy of it would make `body` copy too.
      let old = list.isEmpty ? nil : state.value
      updater.store(ThreadRecord.currentID, ordering: .relaxed)
      defer {
        updater.store(0, ordering: .relaxed)
        notice = enqueue(old, &state)
      }
      return try body(&state.value)
    }
  }

  private func checkAccess() {
    let updater = updater.load(ordering: .relaxed)
    precondition(
      updater == 0 || updater != ThreadRecord.currentID,
      "A current value was used inside its own update(_:), which has it exclusively")
  }

  // MARK: Telling

  /// Keeps a change that has just been stored.
  ///
  /// Under the lock.
  ///
  /// - Returns: The change, if the caller is to tell it.
  private func enqueue(_ old: Value?, _ state: inout State) -> Notice? {
    state.revision += 1
    if list.isEmpty && !state.isTelling { return nil }
    let change = ValueChange(old: old, new: state.value, revision: state.revision)
    // Who registers from here on has this value already.
    let notice = Notice(change: change, limit: registry.now)
    if state.isTelling {
      state.waiting.append(notice)
      return nil
    }
    state.isTelling = true
    return notice
  }

  /// Tells a change, and those that come meanwhile.
  private func tell(_ first: Notice) {
    var batch = [first]
    while !batch.isEmpty {
      for notice in batch { registry.post(notice.change, Post(), to: list, limit: notice.limit) }
      batch = state.withLock { state in
        if state.waiting.isEmpty { state.isTelling = false }
        defer { state.waiting = [] }
        return state.waiting
      }
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
    if options.isPlain { return request.register(body, with: registry) { _ in list } }
    let follower = Follower(
      options, isImmediate: body.isImmediate(request.delivery), request.location, registry
    ) { [weak self] in
      self?.state.withLock { ($0.value, $0.revision) }
    }
    let registration = request.register(follower.wrap(body), with: registry) { _ in list }
    follower.bind(to: registration)
    if options.isInitial, let registration {
      registry.post(ValueChange<Value>.initialRequest(value), onlyTo: registration)
    }
    return registration
  }

  /// A registration that has ended.
  ///
  /// Not for direct use.
  public var _ended: Registration { Registration(list: list, id: 0, counters: nil) }
}

extension CurrentValue: CustomStringConvertible {
  /// The value and the live observations, a line each.
  public var description: String {
    registrations.reduce("CurrentValue \(value)") { $0 + "\n  " + $1.description }
  }
}
