internal import Campanile

/// An array property, changed through this proxy so that observers learn which elements were
/// inserted, removed or replaced.
///
/// ```swift
/// let tracks = player.mutableArray(\.tracks)
/// tracks.append(aria)          // an insertion at 0
/// tracks[0] = bourree          // a replacement at 0
/// tracks.remove(at: 0)         // a removal of what was at 0
/// tracks.sort { $0.title < $1.title }  // moves
/// ```
///
/// Each call is one change of the property: it reads the array once, changes it, and sets it, which
/// copies the elements once. A call that changes nothing reports nothing. Only
/// `replaceSubrange(_:with:)` may make two changes. An algorithm of `MutableCollection`, such as
/// `partition(by:)`, makes several, so call it in `edit(_:)` for one change.
///
/// Create a proxy when it is needed, because it keeps the object alive, and use it in the isolation
/// of the object. A call is not atomic: if several threads edit one array at once, the last setter
/// prevails. To read an array that other threads edit, read ``elements`` once instead of element by
/// element.
///
/// The key path may lead through other objects and forwarding properties. The change is reported as
/// a setting if an observed value was not the array before the edit, or is not the array after it,
/// for example because the setter stores another one. If the elements are not `Equatable`, only
/// copies count as the same array.
public struct KVOArray<Object: AnyObject, Element> {
  private let object: Object
  private let keyPath: ReferenceWritableKeyPath<Object, [Element]>

  init(_ object: Object, _ keyPath: ReferenceWritableKeyPath<Object, [Element]>) {
    self.object = object
    self.keyPath = keyPath
  }

  /// The current elements.
  public var elements: [Element] { object[keyPath: keyPath] }

  /// - Parameter body: Returns what it has done to the elements, or `nil`.
  func change(_ body: (inout [Element]) throws -> CollectionEdit.Deed?) rethrows {
    try CollectionEdit.perform(of: object, keyPath, areSame: Self.areSame, body)
  }

  private static func areSame(_ one: [Element], _ other: [Element]) -> Bool {
    if areIdentical(one, other) { return true }
    guard let one = one as? any Equatable else { return false }
    return one.isEqual(to: other)
  }

  // MARK: Inserting

  /// Inserts an element at the end.
  public func append(_ element: Element) { append(contentsOf: CollectionOfOne(element)) }

  /// Inserts elements at the end.
  public func append(contentsOf new: some Collection<Element>) {
    if new.isEmpty { return }
    change { elements in Self.insert(new, at: elements.count, into: &elements) }
  }

  /// Inserts an element before the one at `index`.
  public func insert(_ element: Element, at index: Int) {
    insert(contentsOf: CollectionOfOne(element), at: index)
  }

  /// Inserts elements before the one at `index`.
  public func insert(contentsOf new: some Collection<Element>, at index: Int) {
    if new.isEmpty { return }
    change { elements in Self.insert(new, at: index, into: &elements) }
  }

  private static func insert(
    _ new: some Collection<Element>, at index: Int, into elements: inout [Element]
  ) -> CollectionEdit.Deed {
    let count = elements.count
    elements.insert(contentsOf: new, at: index)
    return .insertion(RangeSet(index..<index + elements.count - count))
  }

  // MARK: Removing

  /// Removes the element at `index`.
  @discardableResult
  public func remove(at index: Int) -> Element { remove { _ in index } }

  /// Removes the first element of an array that is not empty.
  @discardableResult
  public func removeFirst() -> Element { remove { _ in 0 } }

  /// Removes the last element of an array that is not empty.
  @discardableResult
  public func removeLast() -> Element { remove { $0 - 1 } }

  /// - Parameter place: Returns the index of the element, given the number of elements.
  private func remove(_ place: (Int) -> Int) -> Element {
    var removed: Element?
    change { elements in
      let index = place(elements.count)
      require(elements.indices.contains(index), "There is no element \(index) to remove")
      removed = elements.remove(at: index)
      return .removal(RangeSet(index..<index + 1))
    }
    // `change` runs its closure.
    return removed!
  }

  /// Removes the elements in a range.
  public func removeSubrange(_ range: Range<Int>) {
    if range.isEmpty { return }
    change { elements in
      elements.removeSubrange(range)
      return .removal(RangeSet(range))
    }
  }

  /// Removes the elements for which `shouldBeRemoved` returns `true`, as one change.
  public func removeAll(where shouldBeRemoved: (Element) throws -> Bool) rethrows {
    try change { elements in
      let removed = try elements.indices(where: shouldBeRemoved)
      elements.removeSubranges(removed)
      return removed.isEmpty ? nil : .removal(removed)
    }
  }

  /// Removes all elements.
  public func removeAll() {
    change { elements in
      let all = elements.indices
      elements = []
      return all.isEmpty ? nil : .removal(RangeSet(all))
    }
  }

  // MARK: Replacing

  /// Replaces the elements in a range.
  ///
  /// As many elements as both sides have are replaced. The rest is an insertion or a removal, as a
  /// separate change; if an observer of the first change removes elements, the range of the second
  /// change is cut at the end of the array.
  public func replaceSubrange(_ range: Range<Int>, with new: some Collection<Element>) {
    // `new` may be a view of this very array, which the first change modifies.
    let new = Array(new)
    let common = Swift.min(range.count, new.count)
    let middle = range.lowerBound + common
    if common > 0 {
      change { elements in
        require(range.upperBound <= elements.count, "The range ends behind the array")
        elements.replaceSubrange(range.lowerBound..<middle, with: new[..<common])
        return .replacement(RangeSet(range.lowerBound..<middle))
      }
    }
    let end = common > 0 ? Swift.min(range.upperBound, endIndex) : range.upperBound
    let start = Swift.min(middle, end)
    removeSubrange(start..<end)
    insert(contentsOf: new[common...], at: start)
  }

  // MARK: Several edits

  /// Makes several edits as one change.
  ///
  /// The change is an insertion, a removal or a replacement, if one of these describes it fully.
  /// Otherwise it is ``KVOChange/Kind/edits(removals:insertions:moves:)``. Nothing is changed if
  /// `body` throws.
  ///
  /// - Complexity: O(*n* log *n*) in the number of elements.
  public func edit<Result>(
    _ body: (inout KVOArrayEditor<Element>) throws -> Result
  ) rethrows -> Result {
    var result: Result?
    try change { elements in
      var editor = KVOArrayEditor(elements)
      result = try body(&editor)
      let deed = editor.deed(from: elements.count)
      if deed != nil { elements = editor.elements }
      return deed
    }
    // `change` runs its closure.
    return result!
  }

  /// Moves the element at `index`, so that its new index is `destination`.
  public func move(from index: Int, to destination: Int) {
    edit { $0.move(from: index, to: destination) }
  }

  /// Sorts the elements stably, as one change.
  public func sort(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows {
    try edit { try $0.sort(by: areInIncreasingOrder) }
  }

  /// Puts the elements in a random order, as one change.
  public func shuffle() { edit { $0.shuffle() } }

  /// Puts the elements in a random order, as one change.
  public func shuffle(using generator: inout some RandomNumberGenerator) {
    edit { $0.shuffle(using: &generator) }
  }

  /// Reverses the elements, as one change.
  public func reverse() { edit { $0.reverse() } }

  /// Exchanges two elements, as one change, which is reported as a replacement.
  public func swapAt(_ first: Int, _ second: Int) {
    if first == second { return }
    change { elements in
      elements.swapAt(first, second)
      return .replacement(RangeSet([first..<first + 1, second..<second + 1]))
    }
  }
}

extension KVOArray where Element: Comparable {
  /// Sorts the elements in ascending order, as one change.
  public func sort() { sort(by: <) }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { self == other as? Self }
}
