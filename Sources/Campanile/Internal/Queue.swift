/// Values of one type in the order they came.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head].take()
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: elements.count <= 1_024)
      head = 0
    } else if head >= 64 && head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Takes everything out.
  mutating func removeAll() -> [Element] {
    // Most are empty when their source ends; an empty slice mapped would be an allocation.
    guard !isEmpty else { return [] }
    defer {
      elements = []
      head = 0
    }
    return elements[head...].compactMap { $0 }
  }
}
