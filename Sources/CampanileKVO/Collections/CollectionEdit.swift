import Campanile

/// What a mutation proxy does to a collection: which elements are inserted, removed, replaced or
/// moved.
///
/// The setter of the collection's property announces an ordinary change. The edit says which
/// elements it changes.
@usableFromInline
final class CollectionEdit: Sendable {
  /// What is done, and to which elements.
  ///
  /// Indirect, so that it takes little room: every change has room for one, and few have one.
  @usableFromInline
  indirect enum Deed: Sendable {
    case insertion(RangeSet<Int>)
    case removal(RangeSet<Int>)
    case replacement(RangeSet<Int>)
    case edits(removals: RangeSet<Int>, insertions: RangeSet<Int>, moves: [KVOMove])
  }

  let deed: Deed
  /// The type of the collection.
  let valueType: any Any.Type
  /// The optional type, for values along key paths with optional chaining.
  private let optionalType: any Any.Type
  private let object: ObjectIdentifier
  /// The properties that were read to get the collection before the edit.
  private let reads: [ReadCollector.Read]
  /// The collection before and after.
  ///
  /// Used in the isolation that makes the edit.
  // SAFETY: like the edit itself, the values stay in the isolation of the code that changes the
  // object.
  private let values = UncheckedLock<(before: Any, after: Any)?>(nil)

  /// Protected by the lock.
  private struct State {
    /// The first property of the collection's type that announces a change: `own` of the object
    /// itself, `other` of another object.
    ///
    /// Another object has it if the proxy's key path leads further, or if the property forwards to
    /// that object.
    var own: ObjectIdentifier?
    var other: ObjectIdentifier?
    /// Whether the edit is in progress.
    ///
    /// A task that was created in it may run later on the same thread.
    var isOpen = true
  }

  private let state = Locked(State())

  private init<Value>(
    _ deed: Deed, from before: Value, _ reads: [ReadCollector.Read], to after: Value,
    of object: AnyObject
  ) {
    self.deed = deed
    self.reads = reads
    self.object = ObjectIdentifier(object)
    valueType = Value.self
    optionalType = Value?.self
    values.withLock { $0 = (before, after) }
  }

  /// Reads a collection, runs `body` on a copy, and sets the copy.
  ///
  /// `body` returns what it has done, or `nil` if it has done nothing.
  static func perform<Object: AnyObject, Value>(
    of object: Object, _ keyPath: ReferenceWritableKeyPath<Object, Value>,
    _ body: (inout Value) throws -> Deed?
  ) rethrows {
    let collector = ReadCollector(isOfKnown: true)
    var before: Value?
    collector.collect { before = object[keyPath: keyPath] }
    // `collect` runs its closure.
    var after = before!
    guard let deed = try body(&after) else { return }
    let edit = CollectionEdit(deed, from: before!, collector.take(), to: after, of: object)
    defer { edit.state.withLock { $0.isOpen = false } }
    Scope.with(edit) { object[keyPath: keyPath] = after }
  }

  /// This edit as change `number` of `property`, if it may be that change.
  ///
  /// - Parameter isKnown: Whether the change will have this number when it is stored.
  func claim(
    by property: ObservedProperty, as number: UInt, isKnown: Bool = false
  ) -> AnnouncedEdit? {
    guard property.path.identity.valueType == valueType else { return nil }
    let id = ObjectIdentifier(property)
    let isOwn = property.subject.id == object
    let isFirst = state.withLock { state in
      let first = (isOwn ? state.own : state.other) ?? id
      if isOwn { state.own = first } else { state.other = first }
      return state.isOpen && first == id
    }
    guard isFirst else { return nil }
    let isAlone = reads.contains { $0.property === property && $0.revision == number &- 1 }
    return AnnouncedEdit(
      self, of: property, isOwn: isOwn, number, isAlone: isAlone, isKnown: isKnown)
  }

  /// Whether the edit begins with `value`, which was read along some key path.
  ///
  /// Only values that can be compared are found to be equal. Two copies of one array compare equal
  /// without a look at the elements.
  func begins(with value: Any) -> Bool { isEqual(value, values.withLock { $0?.before }) }

  /// Whether the edit ends with `value`.
  func ends(with value: Any) -> Bool { isEqual(value, values.withLock { $0?.after }) }

  /// Whether the edit may end with `value`.
  ///
  /// A setter may store another value than the one it received.
  ///
  /// Values that cannot be compared may be the same if they have the same number of elements.
  func mayEnd(with value: Any) -> Bool {
    if value is any Equatable { return ends(with: value) }
    let after = values.withLock { $0?.after }
    return (value as? any Collection)?.count == (after as? any Collection)?.count
  }

  private func isEqual(_ value: Any, _ other: Any?) -> Bool {
    let type = type(of: value)
    guard type == valueType || type == optionalType, let value = value as? any Equatable, let other
    else { return false }
    return value.isEqual(to: other)
  }
}

/// An edit, as the change of one property.
final class AnnouncedEdit: Sendable {
  let edit: CollectionEdit
  private let property: ObservedProperty
  /// Whether the property is the collection itself, so that no values have to be compared.
  private let isOwn: Bool
  private let number: UInt
  /// Whether all earlier changes had ended when the collection was read.
  private let isAlone: Bool
  /// Whether the change is counted when it is stored, and not when it begins.
  private let isKnown: Bool

  fileprivate init(
    _ edit: CollectionEdit, of property: ObservedProperty, isOwn: Bool, _ number: UInt,
    isAlone: Bool, isKnown: Bool
  ) {
    self.isKnown = isKnown
    self.edit = edit
    self.property = property
    self.isOwn = isOwn
    self.number = number
    self.isAlone = isAlone
  }

  /// Whether the values of a key path are those of the property itself.
  func isOf(_ valueType: any Any.Type, isDirect: Bool) -> Bool {
    isOwn && isDirect && edit.valueType == valueType
  }

  /// Whether no other change has begun since the collection was read.
  ///
  /// If so, every value that was read since is the collection before or after the edit. Changes are
  /// counted when they begin, so every visible change has been counted.
  func isWhole(atBeginning: Bool) -> Bool {
    isAlone && property.begun &+ (atBeginning && isKnown ? 1 : 0) == number
  }

  /// Whether this is change `number` of a property that is the collection itself, and began with
  /// the value of the previous change.
  func isNumber(_ number: UInt) -> Bool { isOwn && isAlone && self.number == number }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { self == other as? Self }
}
