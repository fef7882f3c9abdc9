/// A set property, changed through this so that observers learn whether members were inserted or
/// removed.
///
/// ```swift
/// player.mutableSet(\.tags).insert("live")  // an insertion
/// ```
///
/// Each call is one change of the property: it reads the set, changes it, and sets it, which copies
/// the members once. A call that changes nothing tells nothing. Which members came and went is computed on request: see
/// ``KVOChange/insertedMembers()``. It keeps the object; make one when it is needed. Use it in the
/// isolation of the object.
public struct KVOSet<Object: AnyObject, Element: Hashable> {
  private let object: Object
  private let keyPath: ReferenceWritableKeyPath<Object, Set<Element>>

  init(_ object: Object, _ keyPath: ReferenceWritableKeyPath<Object, Set<Element>>) {
    self.object = object
    self.keyPath = keyPath
  }

  /// The members now.
  public var members: Set<Element> { object[keyPath: keyPath] }

  /// How many members there are.
  public var count: Int { members.count }

  /// Whether `member` is one.
  public func contains(_ member: Element) -> Bool { members.contains(member) }

  private func edit(_ kind: KVOKind, _ body: (inout Set<Element>) -> Void) {
    let edit = CollectionEdit(kind, at: nil, in: Set<Element>.self, of: object) {
      [object, keyPath] in object[keyPath: keyPath]
    }
    edit.perform { body(&object[keyPath: keyPath]) }
  }

  /// Inserts a member.
  ///
  /// - Returns: Whether it is new.
  @discardableResult
  public func insert(_ member: Element) -> Bool {
    if contains(member) { return false }
    edit(.insertion) { $0.insert(member) }
    return true
  }

  /// Removes a member.
  ///
  /// - Returns: Whether it was one.
  @discardableResult
  public func remove(_ member: Element) -> Bool {
    if !contains(member) { return false }
    edit(.removal) { $0.remove(member) }
    return true
  }

  /// Inserts members, as one change.
  public func formUnion(_ other: some Sequence<Element>) {
    let new = Set(other).subtracting(members)
    if !new.isEmpty { edit(.insertion) { $0.formUnion(new) } }
  }

  /// Removes members, as one change.
  public func subtract(_ other: some Sequence<Element>) {
    let removed = members.intersection(Set(other))
    if !removed.isEmpty { edit(.removal) { $0.subtract(removed) } }
  }

  /// Removes the members that are not in `other`, as one change.
  public func formIntersection(_ other: some Sequence<Element>) {
    subtract(members.subtracting(Set(other)))
  }

  /// Removes all members, as one change.
  public func removeAll() { subtract(members) }

  /// Replaces all members by others, as one change.
  public func replaceAll(with other: some Sequence<Element>) {
    let new = Set(other)
    if new != members { edit(.replacement) { $0 = new } }
  }
}

extension KVOChange {
  /// The members that came, computed when this is called.
  ///
  /// `nil` if there is no old value: ask for `.old`.
  ///
  /// - Complexity: O(*n*) in the members.
  public func insertedMembers<Element>() -> Set<Element>? where Value == Set<Element> {
    old.map { new.subtracting($0) }
  }

  /// The members that went, computed when this is called.
  ///
  /// `nil` if there is no old value: ask for `.old`.
  ///
  /// - Complexity: O(*n*) in the members.
  public func removedMembers<Element>() -> Set<Element>? where Value == Set<Element> {
    old.map { $0.subtracting(new) }
  }
}
