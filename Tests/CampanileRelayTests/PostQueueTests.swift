import Campanile
import CampanileTesting
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import CampanileRelay

extension PostQueue {
  /// Appends bytes.
  fileprivate func append(raw bytes: [UInt8], to subject: String, version: UInt32 = 0) -> Bool {
    append(size: Item.size(of: bytes, to: subject)) {
      .bytes(bytes, RelayPosts.Heading(subject: subject, version: version))
    }
  }

  /// Appends a message of a thousand bytes.
  fileprivate func append(_ number: Int) -> Bool {
    let subject = number % 2 == 0 ? "even" : "odd"
    return append(
      raw: [UInt8](repeating: UInt8(number), count: 1_000 - 128 - subject.utf8.count),
      to: subject, version: UInt32(number))
  }

  fileprivate func takeAll() -> (items: [Item], lost: [String: Int]) {
    var (batch, items) = (Batch(), [Item]())
    let lost = takeAll(in: &batch)
    while let item = batch.popFirst() { items.append(item) }
    return (items, lost)
  }
}

@Suite("R6 R7: what waits to be encoded is bounded, and counted", .ownThread)
struct PostQueueTests {
  private func numbers(_ items: [PostQueue.Item]) -> [String] {
    items.map { item in
      switch item {
      case .message: return "message"
      case .bytes(let bytes, let heading):
        #expect(bytes.allSatisfy { $0 == UInt8(heading.version) })
        #expect(heading.subject == (heading.version % 2 == 0 ? "even" : "odd"))
        return "\(heading.version)"
      case .operation: return "operation"
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
    #expect(numbers(items) == ["operation"] + (2...66).map { "\($0)" })
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
    #expect(queue.append(raw: bytes, to: "large"))
    #expect(!queue.append(raw: bytes, to: "large"))
    let (items, lost) = queue.takeAll()
    #expect(items.isEmpty && lost == ["large": 2])
  }

  @Test("R6 Of bytes that were dropped nothing is kept")
  func droppedBytes() {
    let queue = PostQueue(.newest(bytes: 65_536))
    for number in 1...100_000 { _ = queue.append(raw: [UInt8(number % 251)], to: "a") }
    let (items, lost) = queue.takeAll()
    var kept: [UInt8] = []
    for case .bytes(let bytes, _) in items { kept += bytes }
    let count = 65_536 / 130
    #expect(items.count == count && kept == (100_001 - count...100_000).map { UInt8($0 % 251) })
    #expect(lost == ["a": 100_000 - count])
  }

  @Test("R6 Of typed messages that were dropped nothing is kept, and operations keep their place")
  func droppedMessages() {
    let queue = PostQueue(.newest(bytes: 65_536))
    let message = OutgoingMessage(Small(), through: PathStep(number: 1), nil)
    for number in 1...100_000 {
      _ = queue.append(size: message.size) { .message(message) }
      if number % 25_000 == 0 { _ = queue.append(.flush(UInt64(number))) }
    }
    let count = 65_536 / message.size
    let (items, lost) = queue.takeAll()
    let operations = [String](repeating: "operation", count: 3)
    #expect(
      numbers(items) == operations + [String](repeating: "message", count: count) + ["operation"])
    #expect(lost == ["small": 100_000 - count])
  }

  @Test("What is dropped beside bytes that are larger than the queue is all but the newest")
  func larger() {
    let queue = PostQueue(.newest(bytes: 65_536))
    for number in 0...3 { _ = queue.append(number) }
    _ = queue.append(raw: [UInt8](repeating: 4, count: 100_000), to: "even", version: 4)
    let (items, lost) = queue.takeAll()
    #expect(numbers(items) == ["4"] && lost == ["even": 2, "odd": 2])
  }

  @Test("What is called when a message is queued is called in any case, and before it is dropped")
  func whenQueued() {
    let queue = PostQueue(.oldest(bytes: 65_536))
    let calls = Locked(0)
    func post(_ size: Int) {
      _ = queue.append(size: size) {
        calls.withLock { $0 += 1 }
      } _: {
        .bytes([], RelayPosts.Heading(subject: "a", version: 0))
      }
    }
    post(1)
    post(100_000)
    queue.close()
    post(1)
    #expect(calls.withLock { $0 } == 3)
  }

  @Test("R6 Of bytes in an array with far more room, that is not kept")
  func room() {
    var bytes: [UInt8] = [1, 2, 3]
    #expect(PostQueue.Item.fitted(bytes).capacity < 64)
    bytes.reserveCapacity(100_000)
    let fitted = PostQueue.Item.fitted(bytes)
    #expect(fitted == [1, 2, 3] && fitted.capacity < 64)
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
    _ = queue.append(size: message.size) { .message(message) }
    _ = queue.append(size: 65_536) { .message(message) }
    Chatty.queue.withLock { $0 = nil }
    let (items, lost) = queue.takeAll()
    #expect(items.count == 2)
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

extension RefusedPostTests {
  @Test("R6 Long names of bytes count, too")
  func longNames() async throws {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link }, buffering: .newest(bytes: 65_536))
    let events = Recorder(observing: relay.events)
    let name = String(repeating: "n", count: 40_000)
    link.queue.suspend()
    for number in 1...10 as ClosedRange<UInt8> { relay.post(raw: [number], to: name) }
    link.queue.resume()
    let event = try await events.next(within: lostAfter)
    #expect(event.kind == .lost && event.subject == name && event.count == 9)
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

extension RefusedInOrderTests {
  @Test("R1 R7 A refusal is reported before a later flush ends, which the carrier answers at once")
  func beforeFlush() async throws {
    let link = RecordingLink { operation in
      guard case .flush = operation else { return nil }
      return .lost(sender: nil, subject: "flushed", count: 1, "")
    }
    let relay = Relay(Relay.Transport { _, _ in link })
    let events = Recorder(observing: relay.events)
    link.queue.suspend()
    // The flush is sent in the turn that this post begins.
    relay.post(raw: [1], to: "short")
    relay.post(raw: [UInt8](repeating: 0, count: 1 << 20 + 1), to: "long")
    relay.core.send(.flush(1))
    link.queue.resume()
    for subject in ["long", "flushed"] {
      #expect(try await events.next(within: lostAfter).subject == subject)
    }
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
