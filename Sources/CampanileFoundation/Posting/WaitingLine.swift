/// What waits in a line, oldest first, and is kept for no longer than it waits.
///
/// What is taken out is handed out: nothing is released here, so that a line may stand under a
/// lock.
package struct WaitingLine<Element> {
  /// Emptied places are `nil`; those before `head` are no longer looked at.
  private var places: [Element?] = []
  private var head = 0
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }
  package var first: Element? { elements.first { _ in true } }
  package var last: Element? { places.last { $0 != nil } ?? nil }

  /// What waits, oldest first.
  package var elements: some Sequence<Element> { places[head...].lazy.compactMap { $0 } }

  package mutating func append(_ element: Element) {
    places.append(element)
    count += 1
  }

  /// Takes the oldest out for which `isWanted` holds.
  ///
  /// - Complexity: O(1) if that is the oldest of all, on average.
  package mutating func popFirst(where isWanted: (Element) -> Bool) -> Element? {
    let index = places[head...].firstIndex { $0.map(isWanted) ?? false }
    guard let index else { return nil }
    let element = places[index].take()
    count -= 1
    tidy()
    return element
  }

  /// Takes all out for which `isUnwanted` holds.
  package mutating func removeAll(where isUnwanted: (Element) -> Bool) -> [Element] {
    var removed: [Element] = []
    for index in places.indices[head...] where places[index].map(isUnwanted) ?? false {
      if let element = places[index].take() { removed.append(element) }
    }
    count -= removed.count
    tidy()
    return removed
  }

  /// Gives the emptied places back, when they are half of all.
  private mutating func tidy() {
    if count == 0 {
      places = []
      head = 0
      return
    }
    while places[head] == nil { head += 1 }
    if places.count >= 32 && places.count >= count * 2 {
      places.removeAll { $0 == nil }
      head = 0
    }
  }
}
