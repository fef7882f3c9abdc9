extension KVOArray: RandomAccessCollection, MutableCollection {
  /// Iterates over the elements that the array has at the time of the call.
  public func makeIterator() -> IndexingIterator<[Element]> { elements.makeIterator() }

  /// The index of the first element: zero.
  public var startIndex: Int { 0 }
  /// The index after the last element: the number of elements.
  public var endIndex: Int { elements.count }

  /// The element at `index`.
  ///
  /// Setting it is a replacement.
  public subscript(index: Int) -> Element {
    get { elements[index] }
    nonmutating set {
      change { elements in
        elements[index] = newValue
        return .replacement(RangeSet(index..<index + 1))
      }
    }
  }
}
