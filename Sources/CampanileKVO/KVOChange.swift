/// One change of an observed value, as its observers receive it.
///
/// The values are those of the change, wherever and whenever the observer runs.
public struct KVOChange<Value> {
  // The first fields: their places do not depend on the type of the value, which code that checks
  // them need not look up.
  @usableFromInline let step: ChangeStep
  @usableFromInline let hasOld: Bool
  @usableFromInline let deed: CollectionEdit.Deed?

  /// Whether this is the initial call, a prior call, or a change.
  public var phase: Phase {
    switch step {
    case .initial: .initial
    case .prior: .prior
    case .changed: .changed
    }
  }
  /// The edit of the value since the previous call.
  public var kind: Kind { Kind(deed) }
  /// The value before the change, or `nil` in the initial call and for an observer that did not ask
  /// for ``Options/old``.
  public var old: Value? { hasOld ? known : nil }
  /// The value after the change; in the initial call and in a prior call, the current value.
  public let new: Value
  /// The observed key path.
  public let path: KVOPath
  /// The properties that changed, in the order of their first change.
  ///
  /// - For a path of one stored property: that property.
  /// - For any other path: those of the properties it reads that changed, also in a transaction. If
  ///   a setter that reports its own change also sets other properties, only its own property.
  /// - In the initial call: none.
  public var changedPaths: [KVOPath] { changed?.all ?? [path] }
  /// The properties that changed, unless it is the observed property itself.
  @usableFromInline let changed: ChangedPaths?
  /// The value before the change, if `hasOld`: the type of an optional would be looked up.
  @usableFromInline let known: Value

  /// Inlined into its caller, where the type has been looked up already.
  @inline(__always)
  init(
    _ step: ChangeStep, _ deed: CollectionEdit.Deed?, old: Value, new: Value, hasOld: Bool = true,
    path: KVOPath, changed: ChangedPaths?
  ) {
    self.step = step
    self.deed = deed
    self.known = old
    self.new = new
    self.hasOld = hasOld
    self.path = path
    self.changed = changed
  }

  /// A change by a setter that hands over the values; inlined into it, where the type is known.
  @inlinable
  init(setting old: Value?, _ new: Value, _ path: KVOPath) {
    step = .changed
    deed = nil
    known = old ?? new
    self.new = new
    hasOld = old != nil
    self.path = path
    changed = nil
  }
}

/// The phase, as a type that does not depend on the type of the value.
@usableFromInline
enum ChangeStep: Sendable {
  case initial, prior, changed
}

/// A box for a value before a change, for code that does not depend on its type.
final class OldValue<Value> {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension OldValue: Sendable where Value: Sendable {}

extension KVOChange: Sendable where Value: Sendable {}

extension KVOChange where Value: BidirectionalCollection, Value.Element: Equatable {
  /// The elements that were inserted and removed, computed by this call; `nil` without `.old`.
  ///
  /// - Complexity: O(*n* * *d*), in the number of elements and of differences.
  public func difference() -> CollectionDifference<Value.Element>? {
    old.map { new.difference(from: $0) }
  }
}

extension KVOChange {
  /// The change without the type of its values.
  var asAny: KVOChange<Any> {
    KVOChange<Any>(step, deed, old: known, new: new, hasOld: hasOld, path: path, changed: changed)
  }

  /// The first call of an observation that asked for `.initial`.
  init(initial value: Value, at path: KVOPath) {
    self.init(
      .initial, nil, old: value, new: value, hasOld: false, path: path, changed: ChangedPaths(nil))
  }

  /// Returns the change for an observer that does not ask for old values.
  var withoutOld: Self {
    KVOChange(step, deed, old: new, new: new, hasOld: false, path: path, changed: changed)
  }

  /// Returns the change for an observer that has missed earlier changes.
  var asSetting: Self {
    KVOChange(step, nil, old: known, new: new, hasOld: hasOld, path: path, changed: changed)
  }

  /// Returns the change with another old value.
  func replacingOld(with old: Value) -> Self {
    KVOChange(step, deed, old: old, new: new, hasOld: true, path: path, changed: changed)
  }
}

extension KVOChange {
  /// Which call of an observer this is.
  public enum Phase: Sendable, Hashable {
    /// The first call, with the current value, for an observer that asked for `.initial`.
    case initial
    /// The call before a change, for an observer that asked for `.prior`.
    case prior
    /// The call after a change.
    case changed
  }

  /// The edit of a value.
  ///
  /// An observer that keeps a copy of a collection applies each edit to the copy, and replaces the
  /// copy by ``KVOChange/new`` at each setting. The edits of a transaction are a setting, and so is
  /// the first edit after changes that the observer missed, because it was paused or too slow for a
  /// bounded buffer. The indexes of a prior call are those of the change that is about to be made.
  /// For edits of a set, the indexes are empty.
  public enum Kind: Sendable, Hashable {
    /// The value was set, changed in place, announced by hand, or edited while other changes were
    /// made.
    case setting
    /// Elements were inserted through a ``KVOArray`` or ``KVOSet``, at these indexes of the new value.
    case insertion(at: RangeSet<Int>)
    /// Elements were removed through a ``KVOArray`` or ``KVOSet``, at these indexes of the old value.
    case removal(at: RangeSet<Int>)
    /// Elements were replaced through a ``KVOArray`` or ``KVOSet``, at these indexes.
    case replacement(at: RangeSet<Int>)
    /// Several edits were made as one change of a ``KVOArray``, or elements were moved.
    ///
    /// The indexes of `removals` are those of the old value. The new value has the inserted elements
    /// at `insertions`, and each moved element at the `to` index of its move; the other places take
    /// the remaining elements in their order. A replaced element is removed and inserted.
    case edits(removals: RangeSet<Int>, insertions: RangeSet<Int>, moves: [KVOMove])

    fileprivate init(_ deed: CollectionEdit.Deed?) {
      switch deed {
      case nil: self = .setting
      case .insertion(let indexes): self = .insertion(at: indexes)
      case .removal(let indexes): self = .removal(at: indexes)
      case .replacement(let indexes): self = .replacement(at: indexes)
      case .edits(let removals, let insertions, let moves):
        self = .edits(removals: removals, insertions: insertions, moves: moves)
      }
    }
  }
}
