import Campanile

/// The elements of an array, for several edits that are one change.
///
/// ```swift
/// player.mutableArray(\.tracks).edit { tracks in
///   tracks.removeAll { $0.isPlayed }
///   tracks.move(from: 3, to: 0)
///   tracks.append(aria)
/// }
/// ```
///
/// It has the methods of an array. An element that is moved, sorted or swapped keeps its identity,
/// so the change reports a move; an element that is set is a replacement. Use the editor only in
/// the closure of ``KVOArray/edit(_:)``, because its elements store their indexes in that edit, so
/// an editor that is assigned in a later edit reports wrong indexes. Creating it takes O(*n*).
public struct KVOArrayEditor<Element> {
  /// An element, and its index in the array before the edit, if it was there.
  private struct Slot {
    var element: Element
    var origin: Int?
    /// Whether the element was replaced by another one.
    var isReplaced = false
  }

  private var slots: [Slot]

  init(_ elements: [Element]) {
    slots = elements.indices.map { Slot(element: elements[$0], origin: $0) }
  }

  /// Creates an editor without elements.
  ///
  /// Assigning it to another editor removes all elements of that editor.
  public init() { self.init([]) }

  /// The current elements.
  var elements: [Element] { slots.map(\.element) }

  // MARK: Moving

  /// Moves the element at `index`, so that its new index is `destination`.
  public mutating func move(from index: Int, to destination: Int) {
    require(indices.contains(index), "There is no element \(index) to move")
    require(indices.contains(destination), "There is no index \(destination) to move to")
    slots.insert(slots.remove(at: index), at: destination)
  }

  /// Exchanges two elements; the change reports moves.
  public mutating func swapAt(_ first: Int, _ second: Int) { slots.swapAt(first, second) }

  /// Sorts the elements stably.
  public mutating func sort(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows {
    try slots.sort { try areInIncreasingOrder($0.element, $1.element) }
  }

  /// Puts the elements in a random order.
  public mutating func shuffle() { slots.shuffle() }

  /// Puts the elements in a random order.
  public mutating func shuffle(using generator: inout some RandomNumberGenerator) {
    slots.shuffle(using: &generator)
  }

  /// Reverses the elements.
  public mutating func reverse() { slots.reverse() }

  // MARK: Result

  /// The edit of an array of `countBefore` elements, in the fewest moves, or `nil` if nothing was
  /// done.
  ///
  /// The editor does not store the count, since `removeAll()` replaces it by a new one.
  func deed(from countBefore: Int) -> CollectionEdit.Deed? {
    if let replaced = replacedInPlace(countBefore) {
      return replaced.isEmpty ? nil : .replacement(replaced)
    }
    let kept = slots.indices.filter { slots[$0].origin != nil && !slots[$0].isReplaced }
    let origins = kept.map { slots[$0].origin! }
    let removed = RangeSet(0..<countBefore).subtracting(Self.set(of: origins.sorted()))
    let inserted = RangeSet(slots.indices).subtracting(Self.set(of: kept))
    let moves = zip(kept, origins).enumerated().filter {
      [still = Self.longestIncrease(in: origins)] in !still.contains($0.offset)
    }.map { KVOMove(from: $0.element.1, to: $0.element.0) }
    if moves.isEmpty && removed.isEmpty { return .insertion(inserted) }
    if moves.isEmpty && inserted.isEmpty { return .removal(removed) }
    return .edits(removals: removed, insertions: inserted, moves: moves)
  }

  private static func set(of indexes: [Int]) -> RangeSet<Int> {
    RangeSet(indexes.map { $0..<$0 + 1 })
  }

  /// The indexes of the replaced elements, if nothing else was done.
  private func replacedInPlace(_ countBefore: Int) -> RangeSet<Int>? {
    guard slots.count == countBefore, slots.indices.allSatisfy({ slots[$0].origin == $0 }) else {
      return nil
    }
    return slots.indices(where: \.isReplaced)
  }

  /// The positions of a longest increasing subsequence: the elements that need not be moved.
  private static func longestIncrease(in numbers: [Int]) -> Set<Int> {
    /// For each length, the position of the smallest number that ends such a subsequence.
    var ends: [Int] = []
    var before: [Int?] = []
    for (place, number) in numbers.enumerated() {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
      }
      before.append(low == 0 ? nil : ends[low - 1])
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var places: Set<Int> = []
    var next = ends.last
    while let place = next {
      places.insert(place)
      next = before[place]
    }
    return places
  }
}

extension KVOArrayEditor: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
  /// The index of the first element: zero.
  public var startIndex: Int { 0 }
  /// The index after the last element: the number of elements.
  public var endIndex: Int { slots.count }

  /// The element at `index`.
  ///
  /// Setting it is a replacement.
  public subscript(index: Int) -> Element {
    get { slots[index].element }
    set {
      slots[index].element = newValue
      slots[index].isReplaced = true
    }
  }

  /// Replaces the elements in a range: removes them, and inserts the new ones.
  public mutating func replaceSubrange(
    _ range: Range<Int>, with new: some Collection<Element>
  ) {
    slots.replaceSubrange(range, with: new.map { Slot(element: $0, origin: nil) })
  }
}

extension KVOArrayEditor where Element: Comparable {
  /// Sorts the elements in ascending order.
  public mutating func sort() { sort(by: <) }
}

/// The move of one element, in a change of several edits.
public struct KVOMove: Sendable, Hashable {
  /// The index of the element in the old value.
  public let from: Int
  /// The index of the element in the new value.
  public let to: Int

  /// Creates a move.
  public init(from: Int, to: Int) {
    self.from = from
    self.to = to
  }
}

extension KVOMove: CustomStringConvertible {
  /// The two indexes.
  public var description: String { "\(from) to \(to)" }
}
