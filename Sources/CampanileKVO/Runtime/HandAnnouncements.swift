/// The open changes of one property, from its first announcement by hand until the last change has
/// ended.
///
/// They are one change, whatever code makes them.
struct HandAnnouncements {
  /// The number of open changes.
  private var depth = 0
  /// The makers of the changes that are not announced by hand.
  private var makers: [ObservedProperty.Maker] = []

  var isOpen: Bool { depth > 0 }

  /// Begins a change that is announced by hand.
  ///
  /// - Returns: Whether it is the first one.
  mutating func begin() -> Bool {
    depth += 1
    return depth == 1
  }

  /// Adds a change that is not announced by hand, if an announced one is in progress.
  mutating func begin(by maker: ObservedProperty.Maker) -> Bool {
    if depth == 0 { return false }
    depth += 1
    makers.append(maker)
    return true
  }

  /// Ends a change that was announced by hand.
  ///
  /// - Returns: Whether no change remains open, or `nil` if there was none.
  mutating func end() -> Bool? {
    if depth == makers.count { return nil }
    depth -= 1
    return depth == 0
  }

  /// Ends a change that is not announced by hand.
  ///
  /// - Returns: Whether no change remains open, or `nil` if the change was not added.
  mutating func end(by maker: ObservedProperty.Maker) -> Bool? {
    guard let place = makers.lastIndex(of: maker) else { return nil }
    makers.remove(at: place)
    depth -= 1
    return depth == 0
  }
}
