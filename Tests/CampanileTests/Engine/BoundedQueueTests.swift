import Testing

@testable import Campanile

@Suite("A bounded queue")
struct BoundedQueueTests {
  @Test("K12 The oldest values stay where the newest are dropped", arguments: [1, 2, 8])
  func oldest(capacity: Int) {
    var queue = BoundedQueue<Int>(.oldest(capacity))
    let dropped = (0..<20).map { queue.append($0) }
    #expect(dropped.compactMap { $0 } == Array(capacity..<20))
    #expect(queue.count == capacity)
    #expect(queue.removeAll() == Array(0..<capacity))
    #expect(queue.isEmpty)
  }

  @Test("K12 The newest values push the oldest out", arguments: [1, 2, 8])
  func newest(capacity: Int) {
    var queue = BoundedQueue<Int>(.newest(capacity))
    let dropped = (0..<20).map { queue.append($0) }
    #expect(dropped.compactMap { $0 } == Array(0..<(20 - capacity)))
    #expect(queue.count == capacity)
    #expect((0..<capacity).map { _ in queue.popFirst() } == Array((20 - capacity)..<20))
    #expect(queue.popFirst() == nil)
  }

  @Test("K6 Values come out in the order they went in, however the two alternate")
  func order() {
    for policy in [Buffering.unbounded, .newest(5_000), .oldest(5_000)] {
      var queue = BoundedQueue<Int>(policy)
      var (next, expected) = (0, 0)
      for round in 0..<400 {
        for _ in 0..<(round % 13) {
          #expect(queue.append(next) == nil)
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
  }

  @Test("K16 What was taken out or dropped is not kept")
  func release() {
    let life = LiveCount()
    var queue = BoundedQueue<Tracked>(.newest(4))
    for _ in 0..<100 { _ = queue.append(Tracked(life)) }
    #expect(life.current == 4)
    _ = queue.popFirst()
    #expect(life.current == 3)
    _ = queue.removeAll()
    #expect(life.current == 0)
    _ = queue.append(Tracked(life))
    #expect(queue.count == 1)
    queue = BoundedQueue(.unbounded)
    #expect(life.current == 0)
  }
}
