import Campanile
import Testing

@testable import CampanileRelay

private final class Sized: OutgoingMessage {
  let number: Int
  let size: Int
  init(_ number: Int, size: Int = 1_000) { (self.number, self.size) = (number, size) }
  var path: [PathStep] { [] }
  var hold: HeldDelivery? { nil }
  var pattern: String { number % 2 == 0 ? "even" : "odd" }
  var version: UInt32 { 0 }
  func subject() -> String { "\(number)" }
  func payload() -> [UInt8] { [] }
}

@Suite("R6 R7: what waits to be encoded is bounded, and counted")
struct PostQueueTests {
  private func numbers(_ items: [PostQueue.Item?]) -> [String] {
    items.map { item in
      switch item {
      case .message(let message): message.subject()
      case .operation: "operation"
      case nil: "gone"
      }
    }
  }

  @Test("R6 The newest are kept, and operations keep their place")
  func newest() {
    let queue = PostQueue(.newest(bytes: 65_536))
    #expect(queue.append(Sized(0)).isFirst)
    #expect(!queue.append(.flush(1)))
    for number in 1...66 { #expect(!queue.append(Sized(number)).isFirst) }
    let (items, lost) = queue.takeAll()
    #expect(numbers(items).prefix(4) == ["gone", "operation", "gone", "2"])
    #expect(numbers(items).count == 68)
    #expect(lost == ["even": 1, "odd": 1])
    #expect(queue.takeAll().lost.isEmpty)
  }

  @Test("R6 The oldest are kept")
  func oldest() {
    let queue = PostQueue(.oldest(bytes: 65_536))
    let dropped = (0..<70).flatMap { queue.append(Sized($0)).dropped }
    #expect(dropped.map { $0.subject() } == (65..<70).map { "\($0)" })
    let (items, lost) = queue.takeAll()
    #expect(numbers(items) == (0..<65).map { "\($0)" })
    #expect(lost == ["even": 2, "odd": 3])
    // There is room again.
    #expect(queue.append(Sized(70)).isFirst)
  }

  @Test("A queue that is closed takes nothing, and forgets what there was")
  func closed() {
    let queue = PostQueue(.newest())
    #expect(queue.append(.flush(1)))
    queue.close()
    #expect(!queue.append(Sized(1)).isFirst)
    #expect(!queue.append(.flush(2)))
    #expect(queue.takeAll().items.isEmpty)
  }
}
