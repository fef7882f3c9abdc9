import Campanile
import Synchronization
import Testing

@testable import CampanileRelay

extension PostQueue {
  /// Appends a message of a thousand bytes.
  fileprivate func append(_ number: Int) -> Bool {
    let message = OutgoingMessage(
      raw: [UInt8](repeating: 0, count: 1_000 - 128), subject: number % 2 == 0 ? "even" : "odd",
      version: number)
    return append(size: message.size) { message }
  }
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
    #expect(queue.append(0))
    #expect(!queue.append(.flush(1)))
    for number in 1...66 { #expect(!queue.append(number)) }
    let (items, lost) = queue.takeAll()
    #expect(numbers(items).prefix(4) == ["gone", "operation", "gone", "2"])
    #expect(numbers(items).count == 68)
    #expect(lost == ["even": 1, "odd": 1])
    #expect(queue.takeAll().lost.isEmpty)
  }

  @Test("R6 The oldest are kept")
  func oldest() {
    let queue = PostQueue(.oldest(bytes: 65_536))
    for number in 0..<70 { _ = queue.append(number) }
    let (items, lost) = queue.takeAll()
    #expect(numbers(items) == (0..<65).map { "\($0)" })
    #expect(lost == ["even": 2, "odd": 3])
    // There is room again.
    #expect(queue.append(70))
  }

  @Test("R7 A message that there never was room for is reported, though nothing else is sent")
  func tooLarge() {
    let queue = PostQueue(.oldest(bytes: 65_536))
    let message = OutgoingMessage(
      raw: [UInt8](repeating: 0, count: 65_536), subject: "large", version: 0)
    #expect(queue.append(size: message.size) { message })
    #expect(!queue.append(size: message.size) { message })
    let (items, lost) = queue.takeAll()
    #expect(items.isEmpty && lost == ["large": 2])
  }

  @Test("A queue that is closed takes nothing, and forgets what there was")
  func closed() {
    let queue = PostQueue(.newest())
    #expect(queue.append(.flush(1)))
    queue.close()
    #expect(!queue.append(1))
    #expect(!queue.append(.flush(2)))
    #expect(queue.takeAll().items.isEmpty)
  }

  @Test("R6 The subject of a message that is dropped may use the queue")
  func reentrant() {
    let queue = PostQueue(.newest(bytes: 65_536))
    Chatty.queue.withLock { $0 = queue }
    let message = OutgoingMessage(Chatty(), through: PathStep(number: 1), nil)
    _ = queue.append(size: message.size) { message }
    _ = queue.append(size: 65_536) { message }
    Chatty.queue.withLock { $0 = nil }
    let (items, lost) = queue.takeAll()
    #expect(items.count == 3)
    #expect(lost == ["chatty": 1])
  }
}

/// Asks the queue for something when it is asked for its subject.
private struct Chatty: RelayedMessage {
  static let queue = Mutex<PostQueue?>(nil)
  static var relaySubject: RelaySubject<Self> {
    _ = queue.withLock { $0 }?.append(.flush(1))
    return "chatty"
  }
}
