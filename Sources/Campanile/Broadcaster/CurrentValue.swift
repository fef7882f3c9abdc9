/// One state that any number of followers keep up with.
///
/// ```swift
/// private let state = CurrentValue(false)
/// var isPlaying: ReadOnlyState<Bool> { state.readOnly }
///
/// player.isPlaying.observe(owner: button, on: .main, options: .initial) { button, change in
///   button.isSelected = change.new
/// }
/// state.value = true
/// ```
///
/// In a class that is isolated to an actor, or that is not `Sendable`, it can wrap a property, whose
/// read-only view then has the property's name after a `$`:
///
/// ```swift
/// @CurrentValue private(set) var isPlaying = false
///
/// player.$isPlaying.observe(owner: button, on: .main, options: .initial) { button, change in
///   button.isSelected = change.new
/// }
/// ```
///
/// ## Behavior
///
/// The value can be read and set from any thread, and from inside a follower. Changes are delivered
/// one after the other: a set during a delivery stores the value and returns, and the delivering
/// thread then delivers that change too, so an immediate follower may be called on the thread of
/// another setter. After each 64 changes of other threads, the delivering thread offers the rest to
/// the next thread that sets the value, and returns as soon as such a thread arrives.
///
/// No change is left out, and none is delivered twice. The last change that a follower receives
/// carries the newest value. A follower that missed changes during a pause receives one change when
/// it resumes, from the value that it knew to the newest.
///
/// Setting an equal value is a change like any other. Followers with `.distinct` do not receive it.
/// The observations end with the object.
@propertyWrapper
public final class CurrentValue<Value: Sendable>: StateSource {
  /// The values that observers receive.
  public typealias Element = ValueChange<Value>

  private let storage: StateStorage<Value>

  var registry: ObserverRegistry { storage.registry }

  /// Creates a state.
  ///
  /// - Parameter value: The first value.
  public convenience init(_ value: Value) { self.init(value, registry: ObserverRegistry()) }

  /// Creates the state of a wrapped property.
  ///
  /// - Parameter value: The first value of the property.
  public convenience init(wrappedValue value: Value) { self.init(value) }

  init(_ value: Value, registry: ObserverRegistry) { storage = StateStorage(value, registry) }

  deinit {
    // At once, because the value is not set any more. A change that is still on the way is that of
    // a thread that has ended, or of a follower that resumes.
    storage.end()
    registry.finishReports()
  }

  // MARK: The value

  /// The current value.
  ///
  /// Setting it notifies the followers. If another thread is notifying them at that moment, that
  /// thread delivers this change too, and the set returns before any follower is called, even an
  /// immediate one. So an owner that is released right after the set may not be called for it.
  ///
  /// Reading or setting it inside ``update(_:)`` of the same object is a precondition failure, and so
  /// is finishing.
  public var value: Value {
    get { storage.value }
    set { storage.set(newValue) }
  }

  /// The value of a wrapped property, which is ``value``.
  public var wrappedValue: Value {
    get { value }
    set { value = newValue }
  }

  /// The read-only view of a wrapped property, which is ``readOnly``: `$isPlaying` for a property
  /// `isPlaying`.
  public var projectedValue: ReadOnlyState<Value> { readOnly }

  /// Sets the value, and notifies all followers except one.
  ///
  /// Use it for two states that follow each other, where the owner of the skipped follower knows
  /// `newValue` already. The next change that the follower receives has `newValue` as its old value.
  ///
  /// If the follower is paused when the value is set, it never receives an earlier change, even if
  /// it resumes before such a change reaches it; its initial call, if it is due, carries `newValue`
  /// or a newer value. If it is not paused, changes that were queued on its target are still
  /// delivered. A pause or a resume that another thread makes during the set counts as before or
  /// after it. The calls of a concurrent follower have no order, so an earlier change may follow a
  /// later one.
  ///
  /// A registration of another source, or one that has ended, has no effect.
  public func set(_ newValue: Value, skipping registration: Registration) {
    storage.set(newValue, skipping: registration)
  }

  /// Sets the value and waits until every delivery of the change has ended.
  ///
  /// A delivery ends when the follower has run, or when it is skipped, canceled, dropped from a
  /// full buffer, or discarded with its owner or target. The delivery to a sequence ends when the
  /// change is stored. If another thread is notifying the followers, this method also waits until
  /// that thread has delivered this change. It does not wait for followers whose `.initial` call is
  /// running, nor for the followers of a combined state on other targets.
  ///
  /// Inside an asynchronous follower this method does not wait for that follower.
  ///
  /// - Throws: `CancellationError` if the task is canceled first. The deliveries are still made.
  @_optimize(size)
  public func setAndWait(_ newValue: Value) async throws {
    let tracker = DeliveryTracker()
    storage.set(newValue, tracked: tracker)
    tracker.end()
    try await tracker.wait()
  }

  /// Changes the value in place, with every other reader and writer waiting, then notifies the
  /// followers.
  ///
  /// The closure must be short, because other threads wait for it. It must not use this object:
  /// reading, setting or updating it there is a precondition failure, also in the deinit of an
  /// object that the closure removes from the value. If the closure throws, the changes that it
  /// made remain, and are delivered.
  ///
  /// The closure may use another current value, and waits for it. If two threads do so crosswise,
  /// each inside the update of the state that the other one waits for, the program stops with a
  /// sentence that says so; to avoid it, read the other state before the update.
  ///
  /// The followers receive the value before the change too, so an append to an array copies the
  /// array. Without followers, or if all of them were registered with `.withoutOld`, the array is
  /// changed in place, unless it has another reference, such as that of a combined state.
  ///
  /// - Returns: The result of `body`.
  @discardableResult
  public func update<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try storage.update(body)
  }

  // MARK: Following

  /// Ends every observation of this source that `owner` owns.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    storage.registry.endAll(ownedBy: owner)
  }

  /// Ends every observation and every sequence, and refuses later ones.
  ///
  /// Queued deliveries are not made. A sequence still returns all changes that were set before, and
  /// a combined state still delivers them. If one of these is being delivered, they end after it.
  /// The value can still be read and set. A second call does nothing. The observers of ``events`` and
  /// ``failures`` stay until the state is released.
  public func finish() {
    storage.finish()
  }

  /// The number of observations that have not ended.
  ///
  /// Observations of an owner that has died do not count.
  ///
  /// - Complexity: O(*n*) in the observations: each owner is checked.
  public var observerCount: Int { storage.registry.count { _ in [storage.list] } }

  /// The live observations, oldest first, for debugging.
  public var registrations: [RegistrationDescription] {
    storage.registry.describe([storage.list])
  }

  /// The read-only view of the state: it can be read and observed, and cannot be set.
  public var readOnly: ReadOnlyState<Value> { ReadOnlyState(base: self) }
  /// The changes of the state, without access to its current value.
  public var signal: Signal<ValueChange<Value>> { Signal(base: self) }
}

extension CurrentValue: StateBase {
  package var reporters: Reporters { Reporters(registries: [registry]) }

  @_optimize(size)
  package func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<ValueChange<Value>>,
    _ options: SourceOptions<ValueChange<Value>>
  ) -> Registration {
    let (registry, list) = (storage.registry, storage.list)
    let missed = MissedChanges(
      of: storage, isInitialDue: options.isInitial, isOldWanted: options.isOldWanted)
    request.skipKeeper = missed
    let isWanted = body.isWanted
    var follower: Follower<Value>?
    if !options.isPlain {
      let new = Follower(
        options, isImmediate: body.isImmediate(request.delivery),
        isBounded: request.buffering != .unbounded, request.location, storage, missed)
      body = new.wrap(body)
      follower = new
    }
    // A resume request is for every observer, whatever changes it wants. So is a merged change that
    // covers missed ones.
    if let isWanted {
      body = body.taking { change, _ in
        change.isRequest || isWanted(change, nil) || missed.includesUntold(change)
      }
    }
    let registration = request.register(body, with: registry) { _, _ in .list(list) }
    guard let registration else { return Registration(list: list, id: 0, counters: nil) }
    follower?.bind(to: registration)
    if options.isInitial, let follower {
      let (value, revision) = storage.newest
      follower.begin(with: value, revision)
      let initial = ValueChange<Value>.initialRequest(value)
      registry.post(initial, onlyTo: registration)
      if follower.noteRequest() { registry.post(initial, onlyTo: registration) }
    }
    return registration
  }

  package var reference: @Sendable () -> (any SignalBase<ValueChange<Value>>)? {
    { [reference = OwnerReference(self)] in reference.object }
  }
}

extension CurrentValue: CustomStringConvertible {
  /// The value and the live observations, one per line.
  ///
  /// Of more than 150 observations it shows the oldest, and counts the others by the line that
  /// registered them. Use ``registrations`` for all of them.
  public var description: String {
    storage.registry.listing(under: "CurrentValue \(value)") { _ in [storage.list] }
  }
}

extension CurrentValue: CustomReflectable {
  /// Empty, so that a debugger shows the description alone.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
