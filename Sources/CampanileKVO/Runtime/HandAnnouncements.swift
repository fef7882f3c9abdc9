/// The changes of one property from when the first is announced by hand until the last has ended.
///
/// They are one change, whoever makes them.
struct HandAnnouncements {
  /// How many there are.
  private var depth = 0
  /// Who makes those that are not announced by hand.
  private var makers: [ObservedProperty.Maker] = []

  var isOpen: Bool { depth > 0 }

  /// Begins one that is announced by hand.
  ///
  /// - Returns: whether it is the first one.
  mutating func begin() -> Bool {
    depth += 1
    return depth == 1
  }

  /// Takes in a change that is not announced by hand, if one is that goes on.
  mutating func begin(by maker: ObservedProperty.Maker) -> Bool {
    if depth == 0 { return false }
    depth += 1
    makers.append(maker)
    return true
  }

  /// Ends one that was announced by hand.
  ///
  /// - Returns: whether that was the last one; `nil` if there is none.
  mutating func end() -> Bool? {
    if depth == makers.count { return nil }
    depth -= 1
    return depth == 0
  }

  /// Ends one that is not announced by hand.
  ///
  /// - Returns: whether that was the last one; `nil` if it was not taken in.
  mutating func end(by maker: ObservedProperty.Maker) -> Bool? {
    guard let place = makers.lastIndex(of: maker) else { return nil }
    makers.remove(at: place)
    depth -= 1
    return depth == 0
  }
}
