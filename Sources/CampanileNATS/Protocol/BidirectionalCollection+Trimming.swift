extension BidirectionalCollection {
  /// The elements without those at both ends that `isDropped` is true for.
  func trimming(_ isDropped: (Element) -> Bool) -> SubSequence {
    var rest = drop(while: isDropped)
    while let last = rest.last, isDropped(last) { rest = rest.dropLast() }
    return rest
  }
}
