/// Changes of collections that are made rarely.
///
/// They are compiled once, and not again for each type of collection. Each type would add some
/// kilobytes to every client.
extension Dictionary {
  /// Stores a value, or removes it if it is `nil`.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  mutating func put(_ value: Value?, for key: Key) { self[key] = value }
}

extension Set {
  /// - Returns: Whether the element was not there before.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  mutating func put(_ element: Element) -> Bool { insert(element).inserted }

  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  mutating func drop(_ element: Element) { remove(element) }
}

extension Array {
  /// The elements in an order.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  func ordered(by isBefore: (Element, Element) -> Bool) -> [Element] { sorted(by: isBefore) }
}

extension Collection {
  /// The first elements in an order, for which the others are not sorted if few are wanted.
  package func first(_ limit: Int, by isBefore: (Element, Element) -> Bool) -> [Element] {
    if limit > 1_000 { return Array(sorted(by: isBefore).prefix(limit)) }
    var found: [Element] = []
    for element in self {
      if found.count == limit, found.last.map({ isBefore(element, $0) }) != true { continue }
      var (start, end) = (0, found.count)
      while start < end {
        let middle = (start + end) / 2
        if isBefore(element, found[middle]) { end = middle } else { start = middle + 1 }
      }
      found.insert(element, at: start)
      if found.count > limit { found.removeLast() }
    }
    return found
  }
}
