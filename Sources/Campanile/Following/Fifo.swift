/// A first-in, first-out queue.
///
/// Taking the first element takes amortized constant time.
struct Fifo<Element> {
  private var arrived: [Element] = []
  /// Elements that arrived earlier, in reverse order.
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

extension Fifo: Sendable where Element: Sendable {}
