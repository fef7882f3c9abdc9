import Testing

@testable import Campanile

@Suite("A queue")
struct QueueTests {
  @Test("K6 Values come out in the order they went in, however the two alternate")
  func order() {
    var queue = Queue<Int>()
    var (next, expected) = (0, 0)
    for round in 0..<400 {
      for _ in 0..<(round % 13) {
        queue.append(next)
        next += 1
      }
      for _ in 0..<(round % 11) {
        let value = queue.popFirst()
        if value != nil { expected += 1 }
        #expect(value == nil || value == expected - 1)
        #expect(queue.count == next - expected)
      }
    }
    #expect(queue.removeAll() == Array(expected..<next))
    #expect(queue.isEmpty)
    #expect(queue.popFirst() == nil)
  }

  @Test("K16 What was taken out is not kept")
  func release() {
    let life = LiveCount()
    var queue = Queue<Tracked>()
    for _ in 0..<4 { queue.append(Tracked(life)) }
    #expect(life.current == 4)
    _ = queue.popFirst()
    #expect(life.current == 3)
    _ = queue.removeAll()
    #expect(life.current == 0)
    queue.append(Tracked(life))
    #expect(queue.count == 1)
    queue = Queue()
    #expect(life.current == 0)
  }
}
