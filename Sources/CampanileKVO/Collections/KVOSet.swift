/// A set property, changed through this proxy so that observers learn whether members were inserted
/// or removed.
///
/// ```swift
/// player.mutableSet(\.tags).insert("live")  // an insertion
/// ```
///
/// Each call is one change of the property: it reads the set once, changes it, and sets it, which
/// copies the members once. A call that changes nothing reports nothing. The inserted and removed
/// members are computed on request: see ``KVOChange/insertedMembers()``. Create a proxy when it is
/// needed, because it keeps the object alive, and use it in the isolation of the object.
public struct KVOSet<Object: AnyObject, Element: Hashable> {
  private let object: Object
  private let keyPath: ReferenceWritableKeyPath<Object, Set<Element>>

  init(_ object: Object, _ keyPath: ReferenceWritableKeyPath<Object, Set<Element>>) {
    self.object = object
    self.keyPath = keyPath
  }

  /// The current members.
  public var members: Set<Element> { object[keyPath: keyPath] }

  /// The number of members.
  public var count: Int { members.count }

  /// Whether the set contains `member`.
  public func contains(_ member: Element) -> Bool { members.contains(member) }

  /// Inserts a member.
  ///
  /// - Returns: Whether the member is new.
  @discardableResult
  public func insert(_ member: Element) -> Bool { edit { $0.insert(member).inserted } }

  /// Removes a member.
  ///
  /// - Returns: Whether the set contained it.
  @discardableResult
  public func remove(_ member: Element) -> Bool { edit { $0.remove(member) != nil } }

  /// Inserts members, as one change.
  public func formUnion(_ other: some Sequence<Element>) { edit { $0.formUnion(other) } }

  /// Removes members, as one change.
  public func subtract(_ other: some Sequence<Element>) { edit { $0.subtract(other) } }

  /// Removes the members that are not in `other`, as one change.
  public func formIntersection(_ other: some Sequence<Element>) {
    edit { $0.formIntersection(other) }
  }

  /// Removes all members, as one change.
  public func removeAll() { edit { $0 = [] } }

  /// Inserts members or removes some, but not both.
  private func edit<Result>(_ body: (inout Set<Element>) -> Result) -> Result {
    var result: Result?
    change { members in
      let count = members.count
      result = body(&members)
      if members.count == count { return nil }
      return members.count > count ? .insertion(RangeSet()) : .removal(RangeSet())
    }
    // `change` runs its closure.
    return result!
  }

  /// Replaces all members with others, as one change.
  public func replaceAll(with other: some Sequence<Element>) {
    let new = Set(other)
    change { members in
      let old = members
      members = new
      if new == old { return nil }
      if new.isSuperset(of: old) { return .insertion(RangeSet()) }
      return new.isSubset(of: old) ? .removal(RangeSet()) : .replacement(RangeSet())
    }
  }

  /// - Parameter body: Returns what it has done to the members, or `nil`.
  private func change(_ body: (inout Set<Element>) -> CollectionEdit.Deed?) {
    CollectionEdit.perform(of: object, keyPath, areSame: { $0 == $1 }, body)
  }
}

extension KVOChange {
  /// The inserted members, computed by this call; `nil` without `.old`.
  ///
  /// - Complexity: O(*n*) in the number of members.
  public func insertedMembers<Element>() -> Set<Element>? where Value == Set<Element> {
    old.map { new.subtracting($0) }
  }

  /// The removed members, computed by this call; `nil` without `.old`.
  ///
  /// - Complexity: O(*n*) in the number of members.
  public func removedMembers<Element>() -> Set<Element>? where Value == Set<Element> {
    old.map { $0.subtracting(new) }
  }
}
