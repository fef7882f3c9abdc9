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
