/// Elements in the order in which they arrived; taking the first one costs the same however many there
/// are.
struct Fifo<Element> {
  private var arrived: [Element] = []
  /// Those that arrived earlier, the first one last.
  private var next: [Element] = []

  var isEmpty: Bool { arrived.isEmpty && next.isEmpty }

  mutating func append(_ element: consuming Element) { arrived.append(element) }

  mutating func popFirst() -> Element? {
    if next.isEmpty {
      next = arrived.reversed()
      arrived = []
    }
    return next.popLast()
  }
}
