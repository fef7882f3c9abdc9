/// A queue of waiting elements, oldest first, that are also found by labels.
///
/// Removed elements are returned: nothing is released here, so that the queue can be used under a
/// lock. Labels are hashed and compared here, so their types must not run foreign code.
package struct WaitingLine<Label: Hashable, Element> {
  private struct Place {
    let element: Element
    let labels: [Label]
    /// The neighbors in the queue.
    var older: UInt64?
    var newer: UInt64?
  }

  /// The places with one label.
  ///
  /// Usually there is exactly one.
  private enum Labeled {
    case one(UInt64)
    case several(Set<UInt64>)

    /// The identifiers, oldest first.
    var ids: [UInt64] {
      switch self {
      case .one(let id): [id]
      case .several(let ids): ids.sorted()
      }
    }
  }

  private var places: [UInt64: Place] = [:]
  private var labeled: [Label: Labeled] = [:]
  private var oldestID: UInt64?
  /// The identifier of the newest waiting element.
  package private(set) var newestID: UInt64?
  private var lastID: UInt64 = 0

  package init() {}

  package var count: Int { places.count }
  package var isEmpty: Bool { places.isEmpty }
  /// The identifier of the oldest element.
  ///
  /// Identifiers ascend along the queue.
  package var firstID: UInt64? { oldestID }

  /// The waiting elements, oldest first.
  package var elements: some Sequence<Element> {
    sequence(state: oldestID) { id -> Element? in
      guard let place = id.flatMap({ places[$0] }) else { return nil }
      id = place.newer
      return place.element
    }
  }

  /// Appends an element.
  ///
  /// - Parameter id: The identifier of the element, greater than all earlier ones. By default, it is
  ///   the next number.
  /// - Complexity: O(1) for each label, on average.
  package mutating func append(_ element: Element, id: UInt64? = nil, labels: [Label]) {
    let id = id ?? lastID + 1
    lastID = id
    places[id] = Place(element: element, labels: labels, older: newestID, newer: nil)
    if let newestID { places[newestID]?.newer = id } else { oldestID = id }
    newestID = id
    for label in labels { add(id, to: label) }
  }

  /// Removes the oldest element, unless its identifier is greater than `last`.
  ///
  /// - Complexity: O(1) on average.
  package mutating func popFirst(upTo last: UInt64) -> Element? {
    guard let oldestID, oldestID <= last else { return nil }
    return remove(oldestID)
  }

  /// The elements with a label, oldest first, with their identifiers.
  package func elements(labeled label: Label) -> [(id: UInt64, element: Element)] {
    (labeled[label]?.ids ?? []).compactMap { id in places[id].map { (id, $0.element) } }
  }

  /// Removes all elements with a label.
  ///
  /// - Complexity: O(1) on average for each removed element, whatever the number of other elements.
  package mutating func removeAll(labeled label: Label) -> [Element] {
    removeAll(labeled[label]?.ids ?? [])
  }

  /// Removes those of these elements that are still waiting.
  package mutating func removeAll(_ ids: [UInt64]) -> [Element] { ids.compactMap { remove($0) } }

  /// Removes all elements.
  package mutating func removeAll() -> [Element] {
    let all = Array(elements)
    (places, labeled) = ([:], [:])
    (oldestID, newestID) = (nil, nil)
    return all
  }

  private mutating func remove(_ id: UInt64) -> Element? {
    guard let place = places.removeValue(forKey: id) else { return nil }
    if let older = place.older {
      places[older]?.newer = place.newer
    } else {
      oldestID = place.newer
    }
    if let newer = place.newer {
      places[newer]?.older = place.older
    } else {
      newestID = place.older
    }
    for label in place.labels { remove(id, from: label) }
    giveBack()
    return place.element
  }

  private mutating func add(_ id: UInt64, to label: Label) {
    switch labeled.removeValue(forKey: label) {
    case nil: labeled[label] = .one(id)
    case .one(let other): labeled[label] = .several([other, id])
    case .several(var ids):
      ids.insert(id)
      labeled[label] = .several(ids)
    }
  }

  private mutating func remove(_ id: UInt64, from label: Label) {
    guard case .several(var ids) = labeled.removeValue(forKey: label) else { return }
    ids.remove(id)
    if !ids.isEmpty { labeled[label] = .several(ids) }
  }

  /// Releases memory if most of it is unused.
  private mutating func giveBack() {
    if places.capacity < 64 || places.capacity < places.count * 8 { return }
    places = Dictionary(uniqueKeysWithValues: places.lazy.map { ($0, $1) })
    labeled = Dictionary(uniqueKeysWithValues: labeled.lazy.map { ($0, $1) })
  }
}
