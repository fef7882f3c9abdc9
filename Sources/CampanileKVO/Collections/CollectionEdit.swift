import Campanile

/// What a mutation proxy is about to do to a collection.
///
/// The setter of the collection's property announces a change like any other; this tells which.
final class CollectionEdit: Sendable {
  let kind: KVOKind
  let indexes: RangeSet<Int>?
  /// The type of the collection.
  let valueType: any Any.Type
  private let subject: ObjectIdentifier
  /// Protected by the lock.
  private struct State {
    /// The property that is changed, known from the first one of the object that announces a
    /// change.
    var property: ObjectIdentifier?
    /// Whether the edit goes on: a task that was made in it may run on the same thread later.
    var isOpen = true
  }

  private let state = Locked(State())

  /// Reads the collection; called in the isolation of its object.
  private let read = Locked<(() -> Any)?>(nil)

  init(
    _ kind: KVOKind, at indexes: RangeSet<Int>?, in valueType: any Any.Type, of subject: AnyObject,
    read: @escaping () -> Any
  ) {
    self.read.withLock { $0 = read }
    self.kind = kind
    self.indexes = indexes
    self.valueType = valueType
    self.subject = ObjectIdentifier(subject)
  }

  /// Makes the edit: runs `body` as what changes the collection.
  func perform<Result>(_ body: () -> Result) -> Result {
    defer { state.withLock { $0.isOpen = false } }
    return Scope.with({ $0.edit = self }, body)
  }

  /// This edit, if it is one of `property`.
  func claim(by property: ObservedProperty) -> CollectionEdit? {
    guard property.subject.id == subject else { return nil }
    let id = ObjectIdentifier(property)
    let isOurs = state.withLock { state in
      if state.property == nil { state.property = id }
      return state.isOpen && state.property == id
    }
    return isOurs ? self : nil
  }

  /// Whether `value`, which was read along another key path, is that of the collection itself.
  ///
  /// What is computed from the collection has other places. Only values that can be compared are
  /// found to be the same; two copies of one array are, without looking at the elements.
  func isAbout(_ value: Any) -> Bool {
    guard type(of: value) == valueType, let value = value as? any Equatable,
      let read = read.withLock({ $0 })
    else { return false }
    return value.isEqual(to: read())
  }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { self == other as? Self }
}
