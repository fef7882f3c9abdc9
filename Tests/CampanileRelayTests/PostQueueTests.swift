import Campanile
import Testing

@testable import CampanileRelay

/// A message of a thousand bytes.
private func message(_ number: Int) -> OutgoingMessage {
  OutgoingMessage(
    raw: [UInt8](repeating: 0, count: 1_000 - 128), subject: number % 2 == 0 ? "even" : "odd",
    version: number)
}

@Suite("R6 R7: what waits to be encoded is bounded, and counted")
struct PostQueueTests {
  private func numbers(_ items: [PostQueue.Item?]) -> [String] {
    items.map { item in
      switch item {
      case .message(let message): "\(message.version)"
      case .operation: "operation"
      case nil: "gone"
      }
    }
  }

  @Test("R6 The newest are kept, and operations keep their place")
  func newest() {
    let queue = PostQueue(.newest(bytes: 65_536))
    #expect(queue.append(message(0)))
    #expect(!queue.append(.flush(1)))
    for number in 1...66 { #expect(!queue.append(message(number))) }
    let (items, lost) = queue.takeAll()
    #expect(numbers(items).prefix(4) == ["gone", "operation", "gone", "2"])
    #expect(numbers(items).count == 68)
    #expect(lost == ["even": 1, "odd": 1])
    #expect(queue.takeAll().lost.isEmpty)
  }

  @Test("R6 The oldest are kept")
  func oldest() {
    let queue = PostQueue(.oldest(bytes: 65_536))
    for number in 0..<70 { _ = queue.append(message(number)) }
    let (items, lost) = queue.takeAll()
    #expect(numbers(items) == (0..<65).map { "\($0)" })
    #expect(lost == ["even": 2, "odd": 3])
    // There is room again.
    #expect(queue.append(message(70)))
  }

  @Test("A queue that is closed takes nothing, and forgets what there was")
  func closed() {
    let queue = PostQueue(.newest())
    #expect(queue.append(.flush(1)))
    queue.close()
    #expect(!queue.append(message(1)))
    #expect(!queue.append(.flush(2)))
    #expect(queue.takeAll().items.isEmpty)
  }
}
