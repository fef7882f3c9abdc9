/// A first-in first-out queue with access by index, in constant time on average.
struct Queue<Element> {
  private var slots: [Element?] = []
  private var head = 0

  var count: Int { slots.count - head }
  var isEmpty: Bool { slots.count == head }
  var first: Element? { isEmpty ? nil : slots[head] }

  subscript(index: Int) -> Element {
    get { slots[head + index]! }
    set { slots[head + index] = newValue }
  }

  mutating func append(_ element: Element) {
    slots.append(element)
  }

  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = slots[head].take()
    head += 1
    if head == slots.count {
      slots.removeAll(keepingCapacity: slots.count <= 1_024)
      head = 0
    } else if head >= 32, head * 2 >= slots.count {
      // As many elements have been taken out as are moved now.
      slots.removeFirst(head)
      head = 0
    }
    return element
  }

  mutating func removeAll() {
    slots = []
    head = 0
  }
}
