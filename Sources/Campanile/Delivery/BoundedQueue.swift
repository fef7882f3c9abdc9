/// Values in the order they came, no more than a policy allows.
struct BoundedQueue<Element> {
  private var elements: [Element?] = []
  private var head = 0
  private let policy: Buffering

  init(_ policy: Buffering) {
    policy.checkCapacity()
    self.policy = policy
  }

  var count: Int { elements.count - head }
  var isEmpty: Bool { count == 0 }

  /// Puts an element at the end.
  ///
  /// - Returns: what there was no room for, to be released by the caller where that is allowed.
  mutating func append(_ element: Element) -> Element? {
    switch policy {
    case .unbounded:
      break
    case .oldest(let capacity) where count >= capacity:
      return element
    case .newest(let capacity) where count >= capacity:
      let dropped = popFirst()
      elements.append(element)
      return dropped
    case .oldest, .newest:
      break
    }
    elements.append(element)
    return nil
  }

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
