import Campanile
import CampanileTesting
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import CampanileRelay

extension PostQueue {
  /// Appends a message of a thousand bytes.
  fileprivate func append(_ number: Int) -> Bool {
    append(
      raw: [UInt8](repeating: UInt8(number), count: 1_000 - 128),
      to: number % 2 == 0 ? "even" : "odd", version: UInt32(number))
  }
}

@Suite("R6 R7: what waits to be encoded is bounded, and counted", .ownThread)
struct PostQueueTests {
  private func numbers(_ items: [PostQueue.Item?]) -> [String] {
    items.flatMap { item -> [String] in
      switch item {
      case .message: return ["message"]
      case .posts(var posts):
        var numbers: [String] = []
        while let post = posts.popFirst() {
          let (heading, bytes) = (posts.headings[post.heading], posts.bytes[post.payload])
          #expect(bytes.allSatisfy { $0 == UInt8(heading.version) })
          #expect(heading.subject == (heading.version % 2 == 0 ? "even" : "odd"))
          numbers.append(bytes.count > 4_096 ? "\(bytes.count) bytes" : "\(heading.version)")
        }
        return numbers
      case .operation: return ["operation"]
      case nil: return ["gone"]
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
    #expect(numbers(items) == ["gone", "operation"] + (2...66).map { "\($0)" })
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
    let bytes = [UInt8](repeating: 0, count: 65_536)
    #expect(queue.append(raw: bytes, to: "large", version: 0))
    #expect(!queue.append(raw: bytes, to: "large", version: 0))
    let (items, lost) = queue.takeAll()
    #expect(items.isEmpty && lost == ["large": 2])
  }

  @Test("R6 Of bytes that were dropped no more is kept than of those that wait, about")
  func droppedBytes() {
    let queue = PostQueue(.newest(bytes: 65_536))
    for number in 1...100_000 {
      _ = queue.append(raw: [UInt8(number % 251)], to: "a", version: 0)
    }
    let (items, lost) = queue.takeAll()
    var (kept, memory): ([UInt8], Int) = ([], 0)
    for case .posts(var posts) in items {
      memory += posts.bytes.count
      while let post = posts.popFirst() { kept += posts.bytes[post.payload] }
    }
    let count = 65_536 / 129
    #expect(kept == (100_001 - count...100_000).map { UInt8($0 % 251) })
    #expect(lost == ["a": 100_000 - count])
    #expect(memory < 2_048)
  }

  @Test("R6 Of typed messages that were dropped nothing is kept, and operations keep their place")
  func droppedMessages() {
    let queue = PostQueue(.newest(bytes: 65_536))
    let message = OutgoingMessage(Small(), through: PathStep(number: 1), nil)
    for number in 1...100_000 {
      _ = queue.append(size: message.size) { message }
      if number % 25_000 == 0 { _ = queue.append(.flush(UInt64(number))) }
    }
    let count = 65_536 / message.size
    let (items, lost) = queue.takeAll()
    #expect(items.count < 3_000)
    let kept = numbers(items).filter { $0 != "gone" }
    let operations = [String](repeating: "operation", count: 3)
    #expect(kept == operations + [String](repeating: "message", count: count) + ["operation"])
    #expect(lost == ["small": 100_000 - count])
  }

  @Test("Bytes are copied if they are few, and otherwise shared, and keep their order")
  func copies() {
    let queue = PostQueue(.newest())
    for count in [0, 4_096, 4_097, 1] {
      _ = queue.append(raw: [UInt8](repeating: 0, count: count), to: "even", version: 0)
    }
    let (items, _) = queue.takeAll()
    #expect(items.count == 3)
    #expect(numbers(items) == ["0", "0", "4097 bytes", "0"])
    queue.recycle(items)
    #expect(queue.append(1))
    #expect(numbers(queue.takeAll().items) == ["1"])
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

@Suite("R6: what cannot be carried takes no room", .ownThread, .timeLimit(.long))
struct RefusedPostTests {
  @Test("R6 R7 Bytes that are too long are refused, and nothing that waits is dropped for them")
  func tooLong() async throws {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")
    let one = Member(bus, buffering: .newest(bytes: 65_536))
    let two = Relay(bus)
    let heard = Recorder<[UInt8]>(timeout: lostAfter)
    let token = two.raw("short").observe { heard.record($0.bytes) }
    try await two.flush()
    one.relay.link.queue.suspend()
    for number in 1...10 as ClosedRange<UInt8> { one.relay.post(raw: [number], to: "short") }
    one.relay.post(raw: [UInt8](repeating: 0, count: 1 << 20 + 1), to: "long")
    one.relay.link.queue.resume()
    try await one.relay.flush()
    let event = try await one.events.next()
    try #require(event.kind == .refused && event.subject == "long")
    #expect(try await heard.next(10) == (1...10).map { [$0] })
    withExtendedLifetime((one, two, token)) {}
  }
}

private struct Small: RelayedMessage {
  static var relaySubject: RelaySubject<Self> { "small" }
}

@Suite("R1: what is refused has its place among what comes", .ownThread, .timeLimit(.long))
struct RefusedInOrderTests {
  @Test("R1 R7 A refusal is reported before what comes later, also while much is delivered")
  func order() async throws {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")
    let (one, two) = (Relay(bus), Relay(bus))
    let (order, gate) = (Recorder<String>(), Gate())
    let events = two.events.observe { order.record($0.kind == .refused ? "refused" : "other") }
    let token = two.raw("tick").observe { payload in
      order.record("tick \(payload.bytes[0])")
      if payload.bytes[0] == 1 { gate.pass() }
    }
    try await two.flush()
    one.post(raw: [1], to: "tick")
    try await gate.reached(within: lostAfter)
    two.post(raw: [UInt8](repeating: 0, count: 1 << 20 + 1), to: "long")
    one.post(raw: [2], to: "tick")
    // It has come to the other, which is busy.
    try await one.flush()
    gate.open()
    try await two.flush()
    #expect(order.values == ["tick 1", "refused", "tick 2"])
    withExtendedLifetime((one, two, events, token)) {}
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
