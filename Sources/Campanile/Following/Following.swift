import Synchronization

/// An update of a state: a value, and the number of the set that stored it.
struct StateUpdate<Value: Sendable>: StateUpdating {
  let value: Value
  /// 1 for the first value of the state.
  let revision: UInt64

  @inline(__always)
  init(value: Value, revision: UInt64) {
    (self.value, self.revision) = (value, revision)
  }
}

/// A `StateUpdate`, for classes that have its type as a parameter.
///
/// Other generic code looks the type up for each call, which takes as long as the call.
protocol StateUpdating<Value>: Sendable {
  associatedtype Value: Sendable
  var value: Value { get }
  var revision: UInt64 { get }
  init(value: Value, revision: UInt64)
}

/// A plain observer of values, called with updates.
private final class PlainFollower<Value: Sendable, Update: StateUpdating>: Sendable
where Update.Value == Value {
  private let following: Following<Value>
  private let body: @Sendable (Value) throws -> Void

  init(_ following: Following<Value>, _ body: @escaping @Sendable (Value) throws -> Void) {
    self.following = following
    self.body = body
  }

  func call(_ update: Update) throws {
    if following.isNew(update.revision) { try body(update.value) }
  }
}

/// Decides what one observer of a state is called with, from what it knows.
///
/// It runs where the observer is called, on every delivery. An update that is not newer than the one
/// that the observer knows is left out, because an initial call or the call after a pause has covered
/// it. An update that never arrived here, because of a pause or a full buffer, is part of the next one.
///
/// The calls of one observer are made one after the other. The turn of the state orders them, or the
/// mailbox of the observer.
final class Following<Value: Sendable>: Sendable {
  /// The revision of the newest update that the observer has received; the greatest number until
  /// `begin`, so that nothing arrives before.
  private let told: Atomic<UInt64>
  /// Whether the first call is due as soon as the observer is registered.
  let isInitial: Bool
  let isOnce: Bool
  private let comparison: Comparison<Value>?
  /// Whether the value that the observer was called with last is compared with the next one, or passed
  /// on with it.
  private let keepsValue: Bool
  /// That value, if it is kept.
  private let known = Locked<Value?>(nil)
  /// Whether the first update is the only one that is needed.
  var isOver: Bool { isOnce && comparison == nil }

  /// - Parameter isOfChanges: Whether the observer receives the old values too.
  init(_ options: SourceOptions, ofChanges isOfChanges: Bool = false) {
    (isInitial, isOnce) = (options.isInitial, options.isOnce)
    comparison = options.comparison as? Comparison<Value>
    keepsValue = isOfChanges || comparison != nil
    told = Atomic(keepsValue && !isInitial ? .max : 0)
  }

  /// Whether the observer begins with a value although it is not called with it.
  var beginsSilently: Bool { keepsValue && !isInitial }

  /// Sets what the observer knows when it has been registered.
  ///
  /// Called under the lock of the state, so that every update that is left out is part of the value.
  func begin(with value: Value, _ revision: UInt64) {
    known.withLock { $0 = value }
    // Pairs with `isNew`: an update that is newer finds the value.
    told.store(revision, ordering: .releasing)
  }

  /// Notes that an update has arrived.
  ///
  /// - Returns: Whether it is newer than what the observer knows.
  @inline(__always)
  func isNew(_ revision: UInt64) -> Bool {
    // Pairs with `begin`. Nothing else writes at the same time: calls are made one after the other.
    if revision <= told.load(ordering: .acquiring) { return false }
    told.store(revision, ordering: .relaxed)
    return true
  }

  /// Passes on what the observer knew and the new value, unless they are the same to it.
  func pass(_ value: Value, to body: (Value?, Value) throws -> Void) rethrows {
    if !keepsValue { return try body(nil, value) }
    let old = known.withLock { $0 }
    if let comparison, let old, comparison.isSame(old, value) { return }
    // The calls of one observer are made one after the other, so nothing else has written meanwhile.
    known.withLock { $0 = value }
    try body(old, value)
  }

  /// Returns an observer of values as one of updates.
  func wrap(_ body: ObserverBody<Value>) -> ObserverBody<StateUpdate<Value>> {
    if !keepsValue, !isOnce, body.isPlain, let plain = body.plain {
      return ObserverBody(PlainFollower<Value, StateUpdate<Value>>(self, plain).call)
    }
    return wrap(body, where: body.selection { update, _, pass in try pass(update.value) }) { $1 }
  }

  /// Returns an observer of changes as one of updates.
  ///
  /// A filter of changes runs where the observer is called, because only there the old value is known.
  func wrap(changes body: ObserverBody<ValueChange<Value>>) -> ObserverBody<StateUpdate<Value>> {
    wrap(body, where: nil) { ValueChange(old: $0, new: $1) }
  }

  private func wrap<Element: Sendable>(
    _ body: ObserverBody<Element>, where isWanted: ObserverBody<StateUpdate<Value>>.Selection?,
    _ make: @escaping @Sendable (Value?, Value) -> Element
  ) -> ObserverBody<StateUpdate<Value>> {
    body.mapped(once: isOnce, where: isWanted) { [self] update, _, pass in
      if isNew(update.revision) { try self.pass(update.value) { try pass(make($0, $1)) } }
    }
  }
}
