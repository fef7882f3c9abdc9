extension StateSource {
  /// A state whose value is computed from this one's.
  ///
  /// Each change of this state is a change of the derived state, even if its values are equal. Observe
  /// with `.distinct` to leave such changes out. ``combined(with:as:)`` says when `transform`
  /// runs, and how long the states and their observers live.
  public func map<Result: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Result
  ) -> ReadOnlyState<Result> {
    combined(as: transform)
  }

  /// A state whose value is computed from those of several states.
  ///
  /// ```swift
  /// let total = items.combined(with: prices, currency) { items, prices, currency in
  ///   "\(items.reduce(0) { $0 + prices[$1, default: 0] }) \(currency)"
  /// }
  /// ```
  ///
  /// Each change of one of the states is one change of the derived state. If several of them are
  /// derived from the same state, a change of that state is one change, too, so values of different
  /// moments are never mixed. Changes of independent states arrive one after the other, even if several
  /// threads make them, and never an older value of a state after a newer one.
  ///
  /// - Parameters:
  ///   - others: The other states.
  ///   - make: Computes the value. While the derived state is observed, it runs once for each change,
  ///     on a thread that delivers changes of these states, however many observers there are. It also
  ///     runs for each read of the value. The closures of derived states that it is computed from run
  ///     with it, once for each way that leads to them.
  /// - Returns: A state that keeps all these states alive. Its observers do not: they end when all the
  ///   states have ended. Without observers it registers nothing, and keeps no value.
  public func combined<each Other: StateSource, Result: Sendable>(
    with others: repeat each Other,
    as make: @escaping @Sendable (Value, repeat (each Other).Value) -> Result
  ) -> ReadOnlyState<Result> {
    ReadOnlyState(
      base: DerivedState(
        of: readOnly.base, repeat (each others).readOnly.base, as: make))
  }

  /// A state of the pair of the values of two states.
  ///
  /// It behaves as ``combined(with:as:)`` does. Because a pair is not `Equatable`, pass a closure there
  /// to observe with `.distinct`.
  public func combined<Other: StateSource>(
    with other: Other
  ) -> ReadOnlyState<(Value, Other.Value)> {
    combined(with: other) { ($0, $1) }
  }
}

/// A state that is computed from others.
private final class DerivedState<Value: Sendable>: StateBase {
  private let tapAll: @Sendable (Taps) -> @Sendable () -> Value
  /// Computes the value from the only state that this one is derived from; `nil` if there are several.
  private let readDirectly: (@Sendable () -> Value)?
  /// The node, while the state is observed.
  private let node = Locked<@Sendable () -> DerivedNode<Value>?>({ nil })

  init<First, each Other>(
    of first: any StateBase<First>, _ others: repeat any StateBase<each Other>,
    as make: @escaping @Sendable (First, repeat each Other) -> Value
  ) {
    var isMapped = true
    for _ in repeat each others { isMapped = false }
    let others = (repeat each others)
    let read: @Sendable () -> Value = { make(first.value, repeat (each others).value) }
    readDirectly = isMapped ? read : nil
    tapAll = { taps in
      let first = first.tap(taps)
      let others = (repeat (each others).tap(taps))
      return { make(first(), repeat (each others)()) }
    }
  }

  /// The value, computed from one read of each state that it is derived from.
  var value: Value { readDirectly?() ?? tapAll(Taps())() }

  func tap(_ taps: Taps) -> @Sendable () -> Value { tapAll(taps) }

  func home(
    _ location: CallSite
  ) -> (storage: StateStorage<Value, StateUpdate<Value>>, kept: (any AnyObject & Sendable)?) {
    let node = node.withLock { $0() } ?? makeNode(location)
    return (node.storage, node)
  }

  /// Makes the node for the first observer.
  private func makeNode(_ location: CallSite) -> DerivedNode<Value> {
    // Made without the lock: the state's closure computes the first value.
    let new = DerivedNode(self, location)
    return node.withLock { node in
      if let other = node() { return other }
      node = { [weak new] in new }
      return new
    }
  }
}
