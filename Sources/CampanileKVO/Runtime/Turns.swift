/// The indexes of several evaluations, by the identifiers of the observers that they call next.
///
/// A binary heap: adding an index and taking the first one take logarithmic time.
struct Turns {
  /// The evaluation at `index` next calls the observer `id`.
  struct Turn {
    let id: UInt64
    let index: Int
  }

  /// The turn at place *n* is not later than those at 2*n* + 1 and 2*n* + 2.
  private var heap: [Turn] = []

  /// The first turn.
  var first: Turn? { heap.first }

  mutating func insert(_ turn: Turn) {
    heap.append(turn)
    var place = heap.count - 1
    while place > 0 {
      let parent = (place - 1) / 2
      if heap[parent].id <= heap[place].id { return }
      heap.swapAt(parent, place)
      place = parent
    }
  }

  mutating func popFirst() -> Turn? {
    guard let last = heap.popLast() else { return nil }
    guard let first = heap.first else { return last }
    heap[0] = last
    var place = 0
    while true {
      var least = place
      for child in [place * 2 + 1, place * 2 + 2] where child < heap.count {
        if heap[child].id < heap[least].id { least = child }
      }
      if least == place { return first }
      heap.swapAt(least, place)
      place = least
    }
  }
}
