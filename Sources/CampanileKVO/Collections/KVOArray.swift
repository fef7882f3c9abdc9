public import Observation

/// An array property, changed through this so that observers learn which elements were inserted,
/// removed or replaced.
///
/// ```swift
/// let tracks = player.mutableArray(\.tracks)
/// tracks.append(aria)          // an insertion at 0
/// tracks[0] = bourree          // a replacement at 0
/// tracks.remove(at: 0)         // a removal of what was at 0
/// ```
///
/// Each call is one change of the property: it reads the array, changes it, and sets it, which copies
/// the elements once. A call that changes nothing tells nothing. It keeps the object; make one when
/// it is needed. Use it in the isolation of the object. The property is one of the object itself:
/// along a path of several steps, and through a property that forwards to another object's, the
/// changes are told as settings.
public struct KVOArray<Object: AnyObject, Element> {
  private let object: Object
  private let keyPath: ReferenceWritableKeyPath<Object, [Element]>

  init(_ object: Object, _ keyPath: ReferenceWritableKeyPath<Object, [Element]>) {
    self.object = object
    self.keyPath = keyPath
  }

  /// The elements now.
  public var elements: [Element] { object[keyPath: keyPath] }

  private func edit<Result>(
    _ kind: KVOKind, at indexes: RangeSet<Int>, _ body: (inout [Element]) -> Result
  ) -> Result {
    let edit = CollectionEdit(kind, at: indexes, in: [Element].self, of: object) {
      [object, keyPath] in object[keyPath: keyPath]
    }
    return edit.perform { body(&object[keyPath: keyPath]) }
  }

  // MARK: Inserting

  /// Inserts an element at the end.
  public func append(_ element: Element) { insert(element, at: count) }

  /// Inserts elements at the end.
  public func append(contentsOf elements: some Collection<Element>) {
    insert(contentsOf: elements, at: count)
  }

  /// Inserts an element before the one at `index`.
  public func insert(_ element: Element, at index: Int) {
    edit(.insertion, at: RangeSet(index..<index + 1)) { $0.insert(element, at: index) }
  }

  /// Inserts elements before the one at `index`.
  public func insert(contentsOf elements: some Collection<Element>, at index: Int) {
    if elements.isEmpty { return }
    edit(.insertion, at: RangeSet(index..<index + elements.count)) {
      $0.insert(contentsOf: elements, at: index)
    }
  }

  // MARK: Removing

  /// Removes the element at `index`.
  @discardableResult
  public func remove(at index: Int) -> Element {
    edit(.removal, at: RangeSet(index..<index + 1)) { $0.remove(at: index) }
  }

  /// Removes the elements in a range.
  public func removeSubrange(_ range: Range<Int>) {
    if range.isEmpty { return }
    edit(.removal, at: RangeSet(range)) { $0.removeSubrange(range) }
  }

  /// Removes the elements for which `shouldBeRemoved` holds, as one change.
  public func removeAll(where shouldBeRemoved: (Element) throws -> Bool) rethrows {
    let removed = try elements.indices(where: shouldBeRemoved)
    if removed.isEmpty { return }
    edit(.removal, at: removed) { $0.removeSubranges(removed) }
  }

  /// Removes all elements.
  public func removeAll() { removeSubrange(0..<count) }

  // MARK: Replacing

  /// Replaces the elements in a range.
  ///
  /// As many elements as there are on both sides are replaced; the rest is an insertion or a
  /// removal, and a change of its own.
  public func replaceSubrange(_ range: Range<Int>, with elements: some Collection<Element>) {
    let common = Swift.min(range.count, elements.count)
    let middle = range.lowerBound + common
    if common > 0 {
      edit(.replacement, at: RangeSet(range.lowerBound..<middle)) {
        $0.replaceSubrange(range.lowerBound..<middle, with: elements.prefix(common))
      }
    }
    removeSubrange(middle..<range.upperBound)
    insert(contentsOf: elements.dropFirst(common), at: middle)
  }

  /// Exchanges two elements, as one change.
  public func swapAt(_ first: Int, _ second: Int) {
    if first == second { return }
    var indexes = RangeSet(first..<first + 1)
    indexes.insert(contentsOf: second..<second + 1)
    edit(.replacement, at: indexes) { $0.swapAt(first, second) }
  }
}

extension KVOArray: RandomAccessCollection, MutableCollection {
  /// The index of the first element: zero.
  public var startIndex: Int { 0 }
  /// The index behind the last element: the number of elements.
  public var endIndex: Int { elements.count }

  /// The element at `index`; setting it is a replacement.
  public subscript(index: Int) -> Element {
    get { elements[index] }
    nonmutating set {
      edit(.replacement, at: RangeSet(index..<index + 1)) { $0[index] = newValue }
    }
  }
}

extension Observable where Self: AnyObject {
  /// An array property, to be changed so that observers learn what was inserted, removed or
  /// replaced.
  public func mutableArray<Element>(
    _ keyPath: ReferenceWritableKeyPath<Self, [Element]>
  ) -> KVOArray<Self, Element> {
    KVOArray(self, keyPath)
  }

  /// A set property, to be changed so that observers learn whether members were inserted or
  /// removed.
  public func mutableSet<Element>(
    _ keyPath: ReferenceWritableKeyPath<Self, Set<Element>>
  ) -> KVOSet<Self, Element> {
    KVOSet(self, keyPath)
  }
}
