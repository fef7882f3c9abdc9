/// One state that any number of observers keep up with.
///
/// ```swift
/// private let state = CurrentValue(false)
/// var isPlaying: ReadOnlyState<Bool> { state.readOnly }
///
/// player.isPlaying.observe(owner: button, on: .main, options: .initial) { button, isPlaying in
///   button.isSelected = isPlaying
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
/// player.$isPlaying.observe(owner: button, on: .main, options: .initial) { button, isPlaying in
///   button.isSelected = isPlaying
/// }
/// ```
///
/// ## Behavior
///
/// The value can be read and set from any thread, and from inside an observer. One thread at a time
/// delivers the changes. A set that is made meanwhile stores the value and returns, and the
/// delivering thread then delivers that change too, so an immediate observer may be called on the
/// thread of another setter. The first call of an observer with `.initial`, and the call after a
/// pause, are made in their turn like a change. After each 64 changes of other threads, the
/// delivering thread offers the rest to the next thread that sets the value, and returns as soon as
/// such a thread arrives.
///
/// Each observer receives the changes in the order in which they were made, and each of them once.
/// A change that it misses, because it is paused or its buffer is full, is part of the next one that
/// it receives, and when it resumes it receives the newest value. ``StateSource/changes`` also has
/// the value before each change.
///
/// Setting an equal value is a change like any other. Observers with `.distinct` do not receive it.
/// The observations end with the object.
@propertyWrapper
public final class CurrentValue<Value: Sendable>: StateSource {
  let storage: StateStorage<Value, StateUpdate<Value>>
  /// Sets the value, if this is the last element of a source; observers then keep the state.
  private let feed: ObservationToken?

  var registry: ObserverRegistry { storage.registry }
  var list: ObserverList { storage.list }

  /// Creates a state with its first value.
  public convenience init(_ value: Value) { self.init(value, lastOf: nil) }

  /// Creates the state of a wrapped property with its first value.
  public convenience init(wrappedValue value: Value) { self.init(value) }

  /// - Parameter source: The source whose last element the state is, and where it is observed.
  init(
    _ value: Value, registry: ObserverRegistry = ObserverRegistry(),
    lastOf source: (signal: Signal<Value>, location: CallSite)? = nil
  ) {
    let storage = StateStorage<Value, StateUpdate<Value>>(value, registry)
    self.storage = storage
    // The source keeps the storage, and not the state.
    let body = ObserverBody<Value>(
      tap: { storage.set($0, trackedBy: $1.tracker) }, onEnd: { storage.finish() })
    feed = source.map { signal, location in
      ObservationToken(signal.register(ObservationRequest(location), body))
    }
  }

  deinit { storage.finish(isReleased: true) }

  // MARK: The value

  /// The current value.
  ///
  /// Setting it notifies the followers. If another thread is notifying them at that moment, that
  /// thread delivers this change too, and the set returns before any follower is called, even an
  /// immediate one. So an owner that is released right after the set may not be called for it.
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

  /// Sets the value and waits until every delivery of the change has ended.
  ///
  /// ``MessageCenter/postAndWait(_:)`` says when a delivery ends, and for what it does not wait. If
  /// another thread is notifying the followers, this method waits until that thread has delivered
  /// this change. It also waits for the observers of derived states.
  ///
  /// - Throws: `CancellationError` if the task is canceled first. The deliveries are still made.
  public func setAndWait(_ newValue: Value) async throws {
    try await DeliveryTracker.wait { storage.set(newValue, trackedBy: $0) }
  }

  /// Changes the value in place, with every other reader and writer waiting, then notifies the
  /// followers.
  ///
  /// The closure must be short, because other threads wait for it. It must not use this object:
  /// reading, setting, updating or finishing it there is a precondition failure, also in the deinit of an
  /// object that the closure removes from the value. If the closure throws, the changes that it
  /// made remain, and are delivered.
  ///
  /// The closure may use another current value, and waits for it. If it sets that one, its observers
  /// run inside the closure. If two threads use each other's state crosswise, each inside an update,
  /// they wait forever, as with any two locks; to avoid it, read the other state before the update.
  ///
  /// An array is appended to in place, unless something else keeps it: an observer of
  /// ``StateSource/changes`` or with `.distinct`, a delivery that waits, or an observed derived state
  /// that has several states or whose value contains the array.
  ///
  /// - Returns: The result of `body`.
  @discardableResult
  public func update<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try storage.update(body)
  }

  // MARK: Observing

  /// Ends every observation of this source that `owner` owns.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    storage.registry.endAll(ownedBy: owner)
  }

  /// Ends every observation and every sequence, and refuses later ones.
  ///
  /// It waits its turn, as a change does: if a change is being delivered at that moment, the
  /// observations end after it, and after those that were set before this call. The value can still
  /// be read and set. Otherwise it is like ``MessageCenter/finish()``.
  public func finish() {
    storage.finish()
  }

  /// The read-only view of the state: it can be read and observed, and cannot be set.
  public var readOnly: ReadOnlyState<Value> { ReadOnlyState(base: self) }
}

extension CurrentValue: StateBase {
  func home(
    _ location: CallSite
  ) -> (storage: StateStorage<Value, StateUpdate<Value>>, kept: (any AnyObject & Sendable)?) {
    (storage, feed == nil ? nil : self)
  }

  func tap(_ taps: Taps) -> @Sendable () -> Value {
    let read = taps.tap(storage)
    if feed == nil { return read }
    return { [self] in withExtendedLifetime(self) { read() } }
  }
}

extension CurrentValue: Traceable, CustomStringConvertible, CustomReflectable {
  /// A view of the events and the observers of the state.
  public var inspection: SourceInspection {
    SourceInspection(list, named: "CurrentValue of \(Value.self)")
  }

  /// Reports the errors that followers of this state throw; see ``MessageCenter/failures``.
  public var failures: Signal<ObserverFailure> { registry.failures }

  /// The value and the live observations, one per line, as of other sources.
  public var description: String { inspection.named("CurrentValue \(value)").listing }
}
