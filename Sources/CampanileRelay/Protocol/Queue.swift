/// A first-in first-out queue with access by index, in constant time on average.
///
/// It is a ring buffer: appended elements reuse the places of removed ones.
struct Queue<Element> {
  private var slots: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : slots[head] }
  var last: Element? { isEmpty ? nil : self[count - 1] }

  private func place(_ index: Int) -> Int {
    let place = head + index
    return place < slots.count ? place : place - slots.count
  }

  subscript(index: Int) -> Element { slots[place(index)]! }

  /// Changes an element where it is.
  mutating func update(_ index: Int, _ body: (inout Element) -> Void) {
    body(&slots[place(index)]!)
  }

  mutating func append(_ element: consuming Element) {
    if count == slots.count, head == 0 {
      slots.append(element)
    } else {
      if count == slots.count { resize(to: 2 * count) }
      slots[place(count)] = element
    }
    count += 1
  }

  mutating func popFirst() -> Element? {
    if isEmpty { return nil }
    let element = slots[head].take()
    head = place(1)
    count -= 1
    // As many elements have been taken out as there is room then.
    if slots.count > 1_024, count <= slots.count / 8 { resize(to: slots.count / 4) }
    return element
  }

  mutating func removeAll() { self = Self() }

  private mutating func resize(to size: Int) {
    var resized: [Element?] = []
    resized.reserveCapacity(size)
    for index in 0..<count { resized.append(slots[place(index)].take()) }
    resized.append(contentsOf: repeatElement(nil, count: size - count))
    slots = resized
    head = 0
  }
}

extension Queue: Sendable where Element: Sendable {}
