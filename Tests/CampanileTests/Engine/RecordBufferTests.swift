import Synchronization
import Testing

@testable import Campanile

extension RecordBuffer {
  fileprivate mutating func deliverAll() { _ = deliver(atMost: .max) }

  fileprivate mutating func deliver(atMost limit: Int) -> Int {
    var call: PreparedCall?
    return deliver(atMost: limit, inTask: &call, left: Atomic(0))
  }
}

@Suite("RecordBuffer", .ownThread)
struct RecordBufferTests {
  private struct Nothing: Sendable {}

  /// Two of a kind, to build values of many sizes.
  private struct Twice<Element: Sendable>: Sendable {
    let first: Element
    let second: Element
    init(_ element: Element) {
      first = element
      second = element
    }
  }

  private final class Holder: Sendable {
    private let buffer = Locked(RecordBuffer())

    func withLock<Result: Sendable>(_ body: (inout RecordBuffer) -> Result) -> Result {
      buffer.withLock { body(&$0) }
    }
  }

  private let buffer = Holder()
  private let heard = Recorder<String>()

  /// Puts a value into the buffer, for an observer that notes what `describe` says of it.
  private func append<Value: Sendable>(
    _ value: Value, tracker: DeliveryTracker? = nil,
    _ describe: @escaping @Sendable (Value) -> String
  ) -> (Broadcaster<Value>, ObservationToken) {
    let source = Broadcaster<Value>()
    let token = source.observe { [heard] in heard.record(describe($0)) }
    let post = tracker.map { Post().tracked(by: $0) } ?? Post()
    buffer.withLock { $0.append(Self.envelope(to: source.list, post), value) }
    return (source, token)
  }

  private static func envelope(to list: ObserverList, _ post: Post) -> Envelope {
    var route = Route()
    route.all = Cursor(unread: list)
    return Envelope(to: route, .max - 1, post, WildcardValue.absent)
  }

  /// Takes everything out, as a mailbox does: what is done with it is done outside the lock.
  private func empty(_ body: (inout RecordBuffer) -> Void) {
    var batch = RecordBuffer()
    buffer.withLock { swap(&$0, &batch) }
    body(&batch)
    buffer.withLock { swap(&$0, &batch) }
  }

  @Test("K6 Values of any size and alignment come out as they went in, in order, more than once")
  func sizesAndAlignments() {
    let wide = SIMD64<UInt64>(repeating: 7)
    let huge = Twice(Twice(Twice(Twice(Twice(Twice(Twice(wide)))))))
    // Larger than a chunk of the buffer.
    #expect(MemoryLayout.size(ofValue: huge) > 65_000)
    for _ in 0..<3 {
      let kept: [Any] = [
        append(UInt8(1)) { "\($0)" },
        append(Nothing()) { _ in "nothing" },
        append("a string that is too long to stand in sixteen bytes") { $0 },
        append(UInt8(2)) { "\($0)" },
        append(wide) { "\($0.min()) \($0.max())" },
        append(Twice(UInt8(3))) { "\($0.first) \($0.second)" },
        append(huge) { "\($0.second.second.second.second.second.second.second[63])" },
        append(Double(0.5)) { "\($0)" },
      ]
      #expect(buffer.withLock { $0.count } == 8)
      empty { $0.deliverAll() }
      #expect(buffer.withLock { $0.isEmpty })
      withExtendedLifetime(kept) {}
    }
    let once = [
      "1", "nothing", "a string that is too long to stand in sixteen bytes", "2", "7 7", "3 3", "7",
      "0.5",
    ]
    #expect(heard.values == once + once + once)
  }

  /// A value that ends between two multiples of its alignment.
  private struct Uneven: Sendable {
    let wide: SIMD8<UInt64>
    let last: UInt8
  }

  @Test("K6 A value has room in its chunk wherever that is filled to")
  func filled() {
    let (small, texts, uneven) = (
      Broadcaster<UInt8>(), Broadcaster<String>(), Broadcaster<Uneven>()
    )
    let tokens = [
      small.observe { [heard] in heard.record("\($0)") },
      texts.observe { [heard] in heard.record($0) },
      uneven.observe { [heard] in heard.record("\($0.wide[7]) \($0.last)") },
    ]
    let envelopes = (
      Self.envelope(to: small.list, Post()), Self.envelope(to: texts.list, Post()),
      Self.envelope(to: uneven.list, Post())
    )
    var expected: [String] = []
    // The two kinds fill 56 and 64 bytes each: together they end at every place of the first chunk.
    for fewer in 0..<8 {
      for more in 0..<32 {
        var batch = RecordBuffer()
        for _ in 0..<fewer { batch.append(envelopes.0, UInt8(1)) }
        for _ in 0..<more { batch.append(envelopes.1, "text") }
        batch.append(envelopes.2, Uneven(wide: .init(repeating: 7), last: 8))
        batch.deliverAll()
        expected += (0..<fewer).map { _ in "1" } + (0..<more).map { _ in "text" } + ["7 8"]
      }
    }
    #expect(heard.values == expected)
    withExtendedLifetime(tokens) {}
  }

  @Test("K6 Records that are delivered a few at a time are the oldest, and the rest is as it was")
  func aFewAtATime() {
    let sources = (0..<1_000).map { number in append(number) { "\($0)" } }
    let life = LiveCount()
    let kept = append(Tracked(life)) { _ in "tracked" }
    empty { batch in
      for round in 1...300 {
        #expect(batch.deliver(atMost: 3) == 3)
        #expect(heard.count == round * 3)
      }
      #expect(batch.count == 101)
    }
    let late = append(1_000) { "\($0)" }
    empty { batch in
      #expect(batch.deliver(atMost: 1_000) == 102)
      #expect(batch.deliver(atMost: 1_000) == 0)
    }
    #expect(heard.values == (0..<1_000).map { "\($0)" } + ["tracked", "1000"])
    #expect(life.current == 0)
    withExtendedLifetime((sources, kept, late)) {}
  }

  @Test("K10 K16 What is discarded is released, reaches nobody, and is waited for no longer")
  func discards() async throws {
    let life = LiveCount()
    let tracker = DeliveryTracker()
    tracker.begin()
    let (source, token) = append(Tracked(life), tracker: tracker) { _ in "heard" }
    #expect(life.current == 1)
    empty { $0.discardAll() }
    #expect(life.current == 0)
    #expect(heard.values == [])
    tracker.end()
    try await tracker.wait()
    withExtendedLifetime((source, token)) {}
  }

  @Test("K16 A buffer keeps the lists of its envelopes until they are taken out")
  func keeps() {
    weak var list: ObserverList?
    do {
      let (source, token) = append(1) { "\($0)" }
      list = source.list
      token.cancel()
    }
    #expect(list != nil)
    empty { $0.deliverAll() }
    #expect(list == nil)
    #expect(heard.values == [])
  }

  @Test("K16 A mailbox that goes with records in it releases them and tells who waits")
  func deinitialization() async throws {
    final class Nowhere: DeliveryTarget {
      let mailbox = Mailbox()
      let jobs = Recorder<DeliveryJob>()
      func enqueue(_ job: DeliveryJob) { jobs.record(job) }
    }
    let life = LiveCount()
    let tracker = DeliveryTracker()
    tracker.begin()
    let source = Broadcaster<Tracked>()
    do {
      let target = Nowhere()
      let envelope = Self.envelope(to: source.list, Post().tracked(by: tracker))
      target.mailbox.append(envelope, Tracked(life), for: target)
      #expect(life.current == 1)
      withExtendedLifetime(target) {}
    }
    #expect(life.current == 0)
    tracker.end()
    try await tracker.wait()
  }
}
