import TestSupport
import Testing

@testable import CampanileRelay

@Suite("The queue of the relay's logs", .ownThread)
struct QueueTests {
  /// Elements that are counted: nothing that was taken out is kept.
  private final class Element {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  @Test("It is an array that is appended to and taken from", arguments: [3, 10, 3_000])
  func model(typicalCount: Int) {
    var generator = SeededGenerator(UInt64(typicalCount))
    var queue = Queue<Int>()
    var model: [Int] = []
    for step in 0..<Effort.times(10_000, long: 100_000) {
      // It grows to about the typical count, and now and then gets empty.
      let grows = Int.random(in: 0..<2 * typicalCount, using: &generator) >= model.count
      if grows && step % 5_000 < 4_000 {
        queue.append(step)
        model.append(step)
      } else {
        let expected = model.isEmpty ? nil : model.removeFirst()
        #expect(queue.popFirst() == expected)
      }
      #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
      #expect(queue.first == model.first)
      if let index = model.indices.randomElement(using: &generator) {
        queue.update(index) { $0 += 1 }
        model[index] += 1
        #expect(queue[index] == model[index])
      }
    }
    for expected in model { #expect(queue.popFirst() == expected) }
    #expect(queue.popFirst() == nil)
  }

  @Test("What was taken out, and all that is removed, is released")
  func release() {
    var queue = Queue<Element>()
    weak var first: Element?
    weak var last: Element?
    for number in 0..<100 {
      let element = Element(number)
      if number == 0 { first = element }
      last = element
      queue.append(element)
    }
    #expect(queue.popFirst()?.number == 0)
    #expect(first == nil && last != nil)
    queue.removeAll()
    #expect(last == nil && queue.isEmpty)
  }
}
