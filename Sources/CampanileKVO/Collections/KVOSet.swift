/// A set property, changed through this proxy so that observers learn whether members were inserted
/// or removed.
///
/// ```swift
/// player.mutableSet(\.tags).insert("live")  // an insertion
/// ```
///
/// Each call is one change of the property: it reads the set once, changes it, and sets it, which
/// copies the members once. A call that changes nothing reports nothing. The inserted and removed
/// members are computed on request: see ``KVOChange/insertedMembers()``. The proxy keeps the object
/// alive. Create a proxy when it is needed, and use it in the isolation of the object.
/// ``KVOChange/Kind`` says when an edit is reported as a setting.
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

  /// Changes the members.
  ///
  /// `body` returns what it has done to them, or `nil`.
  private func edit(_ body: (inout Set<Element>) -> CollectionEdit.Deed?) {
    CollectionEdit.perform(of: object, keyPath, areSame: { $0 == $1 }, body)
  }

  /// Inserts a member.
  ///
  /// - Returns: Whether the member is new.
  @discardableResult
  public func insert(_ member: Element) -> Bool {
    var isNew = false
    edit { members in
      isNew = members.insert(member).inserted
      return isNew ? .insertion(RangeSet()) : nil
    }
    return isNew
  }

  /// Removes a member.
  ///
  /// - Returns: Whether the set contained it.
  @discardableResult
  public func remove(_ member: Element) -> Bool {
    var wasMember = false
    edit { members in
      wasMember = members.remove(member) != nil
      return wasMember ? .removal(RangeSet()) : nil
    }
    return wasMember
  }

  /// Inserts members, as one change.
  public func formUnion(_ other: some Sequence<Element>) {
    edit { members in
      let count = members.count
      members.formUnion(other)
      return members.count > count ? .insertion(RangeSet()) : nil
    }
  }

  /// Removes members, as one change.
  public func subtract(_ other: some Sequence<Element>) {
    remove { $0.subtract(other) }
  }

  /// Removes the members that are not in `other`, as one change.
  public func formIntersection(_ other: some Sequence<Element>) {
    remove { $0.formIntersection(other) }
  }

  /// Removes all members, as one change.
  public func removeAll() {
    remove { $0 = [] }
  }

  private func remove(_ body: (inout Set<Element>) -> Void) {
    edit { members in
      let count = members.count
      body(&members)
      return members.count < count ? .removal(RangeSet()) : nil
    }
  }

  /// Replaces all members with others, as one change.
  public func replaceAll(with other: some Sequence<Element>) {
    let new = Set(other)
    edit { members in
      let old = members
      members = new
      if new == old { return nil }
      if new.isSuperset(of: old) { return .insertion(RangeSet()) }
      return new.isSubset(of: old) ? .removal(RangeSet()) : .replacement(RangeSet())
    }
  }
}

extension KVOChange {
  /// The inserted members, computed by this call.
  ///
  /// The result is `nil` without an old value: the observer has to ask for `.old`.
  ///
  /// - Complexity: O(*n*) in the number of members.
  public func insertedMembers<Element>() -> Set<Element>? where Value == Set<Element> {
    old.map { new.subtracting($0) }
  }

  /// The removed members, computed by this call.
  ///
  /// The result is `nil` without an old value: the observer has to ask for `.old`.
  ///
  /// - Complexity: O(*n*) in the number of members.
  public func removedMembers<Element>() -> Set<Element>? where Value == Set<Element> {
    old.map { $0.subtracting(new) }
  }
}
