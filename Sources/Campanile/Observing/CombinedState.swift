import Synchronization

extension StateSource {
  /// The state of both values together.
  ///
  /// Each change of either state is a change of the pair, so if both are derived from one state,
  /// its change is two changes of the pair; derive the pair from that state with one `map` instead.
  /// The notifications of the pair are serialized: if another thread makes a change during a
  /// notification, the notifying thread delivers that change next.
  ///
  /// The `failures` of both states report the errors that an observer of the pair throws.
  ///
  /// When one of the states has finished, changes of the pair carry the last value that it
  /// delivered, but the pair's `value` still reads both states.
  ///
  /// Make a combined state once, and keep it, because each one that is made observes both states.
  /// It keeps both states alive. Its observers do not: they end when both states have ended. If an
  /// owner without a ``Lifetime`` dies, its observer and these observations stay until the next
  /// change of either state, or further owners that observe this state, release them.
  ///
  /// - Parameters:
  ///   - other: The state whose value is the second of the pair.
  ///   - file: The caller's file, for descriptions of the two states.
  ///   - line: The caller's line.
  /// - Returns: A state that keeps both states alive, and ends when both have ended. Each observer
  ///   runs on its own delivery, once for each change of either state.
  public func combined<Other: StateSource>(
    with other: Other, file: StaticString = #fileID, line: UInt = #line
  ) -> ReadOnlyState<(Value, Other.Value)> {
    let location = CallSite(file: file, line: line)
    return ReadOnlyState(base: CombinedState(readOnly.base, other.readOnly.base, location))
  }
}

/// The values of two states.
private final class CombinedState<First: Sendable, Second: Sendable>: StateBase {
  typealias Value = (First, Second)

  private let first: any StateBase<First>
  private let second: any StateBase<Second>
  private let pair: PairOfChanges<First, Second>

  init(
    _ first: any StateBase<First>, _ second: any StateBase<Second>, _ location: CallSite
  ) {
    self.first = first
    self.second = second
    pair = PairOfChanges(first, second, location)
  }

  var value: (First, Second) { (first.value, second.value) }
  var reporters: Reporters {
    Reporters(registries: first.reporters.registries + second.reporters.registries)
  }

  func register(
    _ request: consuming ObservationRequest,
    _ body: consuming ObserverBody<ValueChange<(First, Second)>>,
    _ options: SourceOptions<ValueChange<(First, Second)>>
  ) -> Registration {
    pair.register(request, body, options)
  }

  var reference: @Sendable () -> (any SignalBase<ValueChange<(First, Second)>>)? {
    pair.reference
  }
}

/// The changes of two states as changes of one, which a current value notifies.
///
/// The observers that the two states call keep that value. Its observers and the sequences of it
/// keep this object. This object keeps the two observations, but not the states. So the observations
/// end when the combined state is neither kept nor observed any more. The combined state ends when
/// both states have ended.
private final class PairOfChanges<First: Sendable, Second: Sendable>: SignalBase {
  typealias Element = ValueChange<(First, Second)>

  private let pair: CurrentValue<(First, Second)>
  private let tokens: [ObservationToken]

  @_optimize(size)
  init(
    _ first: any StateBase<First>, _ second: any StateBase<Second>, _ location: CallSite
  ) {
    let reporters = first.reporters.registries + second.reporters.registries
    let pair = CurrentValue(
      (first.value, second.value), registry: ObserverRegistry(upstream: reporters))
    let remaining = Remaining()
    let onEnd = { @Sendable in if remaining.isLast() { pair.finish() } }
    self.pair = pair
    tokens = [
      Self.follow(first, location, onEnd) { change in
        // Exchanged, so that the old value is not released under the lock.
        var value = change.new
        pair.update { swap(&$0.0, &value) }
      },
      Self.follow(second, location, onEnd) { change in
        var value = change.new
        pair.update { swap(&$0.1, &value) }
      },
    ]
  }

  /// Calls `take` with each change where it is made, first with the value now.
  @_optimize(size)
  private static func follow<Value: Sendable>(
    _ state: any StateBase<Value>, _ location: CallSite,
    _ onEnd: @escaping @Sendable () -> Void,
    _ take: @escaping @Sendable (ValueChange<Value>) -> Void
  ) -> ObservationToken {
    let body = ObserverBody<ValueChange<Value>>(
      .reader({ change, _ in take(change) }, onEnd: onEnd))
    return ObservationToken(
      state.register(.derived(at: location), body, SourceOptions(isInitial: true)))
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>,
    _ options: SourceOptions<Element>
  ) -> Registration {
    pair.register(request, body.keeping(self), options)
  }

  // Kept: it may have no other reference while a sequence of the combined state has no reader.
  var reference: @Sendable () -> (any SignalBase<Element>)? { { self } }
}

/// How many of two states have not ended.
private final class Remaining: Sendable {
  private let count = Atomic(2)

  func isLast() -> Bool {
    count.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }
}
