/// One state that any number of followers keep up with.
///
/// ```swift
/// private let state = CurrentValue(false)
/// var isPlaying: ReadOnlyState<Bool> { state.readOnly }
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
/// means "on a setter's thread". A thread that has told 64 changes of other threads offers the rest,
/// between two changes, to the next thread that sets the value, and returns when one has come. No
/// change is left out and none is told twice, and the last change that a follower sees carries the
/// newest value.
///
/// A follower that missed changes while it was paused is told one change when it resumes, from the
/// value that it knew to the newest.
///
/// Setting an equal value is a change like any other; followers that asked for `.distinct` are
/// spared it. The observations end with the object.
public final class CurrentValue<Value: Sendable>: StateSource {
  /// What observers are given.
  public typealias Element = ValueChange<Value>

  private let storage: StateStorage<Value>

  var registry: ObserverRegistry { storage.registry }

  /// Creates a state.
  ///
  /// - Parameter value: The first value.
  public convenience init(_ value: Value) { self.init(value, registry: ObserverRegistry()) }

  init(_ value: Value, registry: ObserverRegistry) { storage = StateStorage(value, registry) }

  deinit {
    finish()
    registry.finishReports()
  }

  // MARK: The value

  /// The value now.
  ///
  /// Setting it tells the followers.
  ///
  /// Reading or setting it inside ``update(_:)`` of the same object is a precondition failure.
  public var value: Value {
    get { storage.value }
    set { storage.set(newValue) }
  }

  /// Sets the value, and tells all followers but one.
  ///
  /// For two states that follow each other. The follower counts as told: the next change that it
  /// hears begins with this value. A registration of another source, or one that has ended, makes no
  /// difference.
  public func set(_ newValue: Value, skipping registration: Registration) {
    storage.set(newValue, skipping: registration)
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
    try storage.update(body)
  }

  // MARK: Following

  /// Ends every observation of this source that `owner` bounds.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    storage.registry.endAll(ownedBy: owner) { _ in true }
  }

  /// Ends every observation and every sequence; what comes later is refused.
  ///
  /// The value can still be read and set. A second call does nothing.
  public func finish() {
    storage.registry.finish { _ in [storage.list] }
  }

  /// How many observations have not ended.
  ///
  /// Those of an owner that has died do not count.
  ///
  /// - Complexity: O(*n* log *n*).
  public var observerCount: Int { registrations.count }

  /// The live observations, oldest first, for debugging.
  public var registrations: [RegistrationDescription] {
    storage.registry.describe { _ in [storage.list] }
  }

  /// The state without the power to set it: the read-only face.
  public var readOnly: ReadOnlyState<Value> { ReadOnlyState(base: self) }
  /// The changes, without the value at other times.
  public var signal: Signal<ValueChange<Value>> { Signal(base: self) }
}

extension CurrentValue: StateBase {
  package var reporters: Reporters { Reporters(registries: [registry]) }

  package func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<ValueChange<Value>>,
    _ options: SourceOptions<ValueChange<Value>>
  ) -> Registration {
    let (registry, list) = (storage.registry, storage.list)
    let ended = Registration(list: list, id: 0, counters: nil)
    let missed = MissedChanges(of: storage)
    request.skipKeeper = missed
    // A request to be told is for every observer, whatever changes it wants.
    if let isWanted = body.isWanted { body = body.taking { $0.isRequest || isWanted($0) } }
    if options.isPlain {
      return request.register(body, with: registry) { _, _ in .list(list) } ?? ended
    }
    let follower = Follower(
      options, isImmediate: body.isImmediate(request.delivery),
      isBounded: request.buffering != .unbounded, request.location, storage, missed)
    let registration = request.register(follower.wrap(body), with: registry) { _, _ in .list(list) }
    follower.bind(to: registration)
    if options.isInitial, let registration {
      let (value, revision) = storage.newest
      follower.begin(with: value, revision)
      registry.post(ValueChange<Value>.initialRequest(value), onlyTo: registration)
      follower.noteRequest()
    }
    return registration ?? ended
  }

  package var reference: @Sendable () -> (any SignalBase<ValueChange<Value>>)? {
    { [weak self] in self }
  }
}

extension CurrentValue: CustomStringConvertible {
  /// The value and the live observations, a line each.
  public var description: String {
    registrations.reduce("CurrentValue \(value)") { $0 + "\n  " + $1.description }
  }
}
