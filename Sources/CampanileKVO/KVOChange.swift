/// What an observer of a key path is told.
///
/// The values are those at the time of the change, wherever and whenever the observer runs.
public struct KVOChange<Value> {
  /// Which call this is.
  public let phase: KVOPhase
  /// What was done to the value: since the call before, as ``indexes`` says.
  public let kind: KVOKind
  /// The value before the change.
  ///
  /// `nil` unless the observer asked for `.old`, in the initial call, and where it could not be
  /// read: see ``KVOOptions/old``.
  public var old: Value? { oldValue?.value }
  /// The value after the change; in the initial call and in the prior one, the value as it is.
  public let new: Value
  /// The places of an insertion or replacement in `new`, or of a removal in `old`.
  ///
  /// `nil` unless the value is an array, or an optional one by optional chaining, and was changed
  /// through a ``KVOArray``. They can be applied to the value of the call before: who does so, and takes
  /// `new` of every setting, has the array in the end. So an edit that another change has overtaken, by
  /// an earlier observer or another thread, is told as a setting; so are several edits of one
  /// transaction. In the prior call they are those of the change that is about to be made.
  ///
  /// Who has been paused, or was too slow for a bounded buffer, has missed changes, and begins anew
  /// with `new`.
  public let indexes: RangeSet<Int>?
  /// The key path that is observed.
  public let path: KVOPath
  /// The properties that changed, in the order of their first change.
  ///
  /// For a path of one property, that one; for a computed property, those that it is made of. After
  /// a transaction, all properties of the observed object that it changed, before those of other
  /// objects on the key path. Empty in the initial call.
  public var changedPaths: [KVOPath] { changed.all }
  let changed: ChangedPaths
  let oldValue: OldValue<Value>?

  /// Part of its caller, where the type has been looked up already.
  @inline(__always)
  init(
    phase: KVOPhase, kind: KVOKind, new: Value, indexes: RangeSet<Int>?, path: KVOPath,
    changed: ChangedPaths, oldValue: OldValue<Value>?
  ) {
    self.phase = phase
    self.kind = kind
    self.new = new
    self.indexes = indexes
    self.path = path
    self.changed = changed
    self.oldValue = oldValue
  }
}

/// A value before a change, in a place of its own: most changes are told without.
final class OldValue<Value> {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension OldValue: Sendable where Value: Sendable {}

extension KVOChange: Sendable where Value: Sendable {}

extension KVOChange where Value: BidirectionalCollection, Value.Element: Equatable {
  /// What was inserted and removed, computed when this is called.
  ///
  /// `nil` if there is no old value: ask for `.old`.
  ///
  /// - Complexity: O(*n* * *d*), in the number of elements and of differences.
  public func difference() -> CollectionDifference<Value.Element>? {
    old.map { new.difference(from: $0) }
  }
}

extension KVOChange {
  /// The same change with other values.
  func map<Other>(_ transform: (Value) -> Other) -> KVOChange<Other> {
    KVOChange<Other>(
      phase: phase, kind: kind, new: transform(new), indexes: indexes, path: path,
      changed: changed, oldValue: old.map { OldValue(transform($0)) })
  }

  /// The call that an observation begins with.
  init(initial value: Value, at path: KVOPath) {
    self.init(
      phase: .initial, kind: .setting, new: value, indexes: nil, path: path,
      changed: ChangedPaths(nil), oldValue: nil)
  }
}

/// Which call of an observer it is.
public enum KVOPhase: Sendable, Hashable {
  /// The first call, with the value as it is, for an observer that asked for `.initial`.
  case initial
  /// The call before a change, for an observer that asked for `.prior`.
  case prior
  /// The call after a change.
  case changed
}

/// What was done to a value.
public enum KVOKind: Sendable, Hashable {
  /// It was set, changed in place, announced by hand, or edited while other changes were made.
  case setting
  /// Elements were inserted through a ``KVOArray`` or ``KVOSet``.
  case insertion
  /// Elements were removed through a ``KVOArray`` or ``KVOSet``.
  case removal
  /// Elements were replaced through a ``KVOArray`` or ``KVOSet``.
  case replacement
}
