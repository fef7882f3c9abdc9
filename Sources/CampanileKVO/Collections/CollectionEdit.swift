import Campanile

/// What a mutation proxy does to a collection: which elements come, go or change on the way from one
/// value to another.
///
/// The setter of the collection's property announces a change like any other; this tells which.
@usableFromInline
final class CollectionEdit: Sendable {
  /// What is done to the elements, and to which.
  ///
  /// Indirect: every change has room for one, and few have one.
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
  /// That of values along key paths with optional chaining.
  private let optionalType: any Any.Type
  private let object: ObjectIdentifier
  /// The properties that were read for the collection before.
  private let reads: [ReadCollector.Read]
  /// The collection before and after, in the hands of the isolation that makes the edit.
  // SAFETY: as the edit itself, the values stay in the isolation of those that change the object.
  private let values = UncheckedLock<(before: Any, after: Any)?>(nil)

  /// Protected by the lock.
  private struct State {
    /// The first property of the collection's type that announces a change, of the object itself and
    /// of others: where a proxy's key path leads further, or to a property that forwards.
    var own: ObjectIdentifier?
    var other: ObjectIdentifier?
    /// Whether the edit goes on: a task that was made in it may run on the same thread later.
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

  /// Reads a collection, and sets it as it is after `body`, which says what it has done, or that it
  /// has done nothing.
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

  /// This edit as the change of a property with that number, if it may be one.
  ///
  /// - Parameter isKnown: Whether the number is that which the change will have when it is stored.
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

  /// Whether it begins with `value`, which was read along some key path.
  ///
  /// Only values that can be compared are found to be the same; two copies of one array are, without
  /// looking at the elements.
  func begins(with value: Any) -> Bool { isEqual(value, values.withLock { $0?.before }) }

  /// Whether it ends with `value`.
  func ends(with value: Any) -> Bool { isEqual(value, values.withLock { $0?.after }) }

  /// Whether it may end with `value`: setters can do more than to set.
  ///
  /// Values that cannot be compared may if they have as many elements.
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

/// An edit as the change of one property.
final class AnnouncedEdit: Sendable {
  let edit: CollectionEdit
  private let property: ObservedProperty
  /// Whether the property is the collection itself, so that nothing need be compared.
  private let isOwn: Bool
  private let number: UInt
  /// Whether all changes that began before had ended when the collection was read.
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

  /// Whether what has been read of the property since the edit began is the collection before it or
  /// after it: no other change came between, or has begun.
  ///
  /// Changes are counted when they begin, so that none can be seen that is not.
  func isWhole(atBeginning: Bool) -> Bool {
    isAlone && property.begun &+ (atBeginning && isKnown ? 1 : 0) == number
  }

  /// Whether it is the change with that number, of a collection that is the property itself, and began
  /// with the value that the change before had stored.
  func isNumber(_ number: UInt) -> Bool { isOwn && isAlone && self.number == number }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { self == other as? Self }
}
