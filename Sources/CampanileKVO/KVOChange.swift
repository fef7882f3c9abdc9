/// One change of an observed value, as its observers get it.
///
/// The values are those at the time of the change, wherever and whenever the observer runs.
public struct KVOChange<Value> {
  /// Which call this is.
  public var phase: Phase {
    switch step {
    case .initial: .initial
    case .prior: .prior
    case .changed: .changed
    }
  }
  /// What was done to the value since the call before.
  public var kind: Kind { Kind(deed) }
  /// The value before the change.
  ///
  /// `nil` unless the observer asked for `.old`, in the initial call, and where it could not be
  /// read: see ``Options/old``.
  public var old: Value? { hasOld ? known : nil }
  /// The value after the change; in the initial call and in the prior one, the value as it is.
  public let new: Value
  /// The key path that is observed.
  public let path: KVOPath
  /// The properties that changed, in the order of their first change.
  ///
  /// For a path of one property, that one; for a computed property, those that it is made of. After
  /// a transaction, all properties of the observed object that it changed, before those of other
  /// objects on the key path. Empty in the initial call.
  public var changedPaths: [KVOPath] { changed?.all ?? [path] }
  /// The properties that changed, unless it is the one that is observed.
  @usableFromInline let changed: ChangedPaths?
  /// The value before the change, if there is one; not an optional, whose type would be looked up.
  @usableFromInline let known: Value
  @usableFromInline let hasOld: Bool
  // Phase and kind, as types that do not depend on the value's: those would be looked up at each change.
  @usableFromInline let step: ChangeStep
  @usableFromInline let deed: CollectionEdit.Deed?

  /// Part of its caller, where the type has been looked up already.
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

  /// A change by a setter, of which nothing but the values are to be told.
  ///
  /// Part of the setter, where the type is known.
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

  /// A change whose old value is not known, or nobody asks for.
  @inline(__always)
  init(
    _ step: ChangeStep, _ deed: CollectionEdit.Deed?, new: Value, path: KVOPath,
    changed: ChangedPaths?
  ) {
    self.init(step, deed, old: new, new: new, hasOld: false, path: path, changed: changed)
  }
}

/// Which call of an observer it is.
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
  /// What was inserted and removed, computed when this is called.
  ///
  /// `nil` without an old value: the observer has to ask for `.old`.
  ///
  /// - Complexity: O(*n* * *d*), in the number of elements and of differences.
  public func difference() -> CollectionDifference<Value.Element>? {
    old.map { new.difference(from: $0) }
  }
}

extension KVOChange {
  /// The same change with other values.
  func map<Other>(_ transform: (Value) -> Other) -> KVOChange<Other> {
    let new = transform(new)
    return KVOChange<Other>(
      step, deed, old: hasOld ? transform(known) : new, new: new, hasOld: hasOld, path: path,
      changed: changed)
  }

  /// The call that an observation begins with.
  init(initial value: Value, at path: KVOPath) {
    self.init(.initial, nil, new: value, path: path, changed: ChangedPaths(nil))
  }
}

extension KVOChange {
  /// Which call of an observer it is.
  public enum Phase: Sendable, Hashable {
    /// The first call, with the value as it is, for an observer that asked for `.initial`.
    case initial
    /// The call before a change, for an observer that asked for `.prior`.
    case prior
    /// The call after a change.
    case changed
  }

  /// What was done to a value.
  ///
  /// Apply the edits to the value of the call before, and take ``KVOChange/new`` at each setting: the
  /// copy is then the collection. An edit that another change overtakes, by an earlier observer or on
  /// another thread, is a setting. So are several edits of one transaction. The indexes of a prior call
  /// are those of the change that is about to be made.
  ///
  /// An observer that was paused, or too slow for a bounded buffer, has missed changes, and begins
  /// again with ``KVOChange/new``.
  ///
  /// The indexes are empty where a set was edited.
  public enum Kind: Sendable, Hashable {
    /// It was set, changed in place, announced by hand, or edited while other changes were made.
    case setting
    /// Elements were inserted through a ``KVOArray`` or ``KVOSet``, at these indexes of the new value.
    case insertion(at: RangeSet<Int>)
    /// Elements were removed through a ``KVOArray`` or ``KVOSet``, at these indexes of the old value.
    case removal(at: RangeSet<Int>)
    /// Elements were replaced through a ``KVOArray`` or ``KVOSet``, at these indexes.
    case replacement(at: RangeSet<Int>)
    /// Several edits were made as one change of a ``KVOArray``, or elements changed their places.
    ///
    /// The new value has the inserted elements at `insertions`, and a moved element at the index that
    /// its move goes to. The other places take the elements of the old value that are neither removed
    /// nor moved, in their order. The indexes of `removals` are those of the old value. A replaced
    /// element is among both the removals and the insertions.
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
