import Dispatch
import Testing

@testable import Campanile

@Suite("K5 and K6: order", .ownThread)
struct OrderTests {
  private let center = MessageCenter()
  private let heard = Recorder<String>()
  private let queue = TestQueue()

  @Test("K5 A1 specific, subject and wildcard observers are interleaved where they registered")
  func interleaved() {
    let player = Player()
    var tokens: [ObservationToken] = []
    for index in 0..<3 {
      tokens += [
        center.anyMessage.observe { [heard] _ in heard.record("any \(index)") },
        center.messages(of: LevelChanged.self, about: player).observe { [heard] _ in
          heard.record("about \(index)")
        },
        center.observe(LevelChanged.self) { [heard] _ in heard.record("all \(index)") },
      ]
    }
    center.post(LevelChanged(level: 1), about: player)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == (0..<3).flatMap { ["any \($0)", "about \($0)", "all \($0)"] })
  }

  @Test("K5 the unbounded observers of one queue are interleaved where they registered")
  func interleavedOnQueue() {
    let player = Player()
    var tokens: [ObservationToken] = []
    for index in 0..<3 {
      tokens += [
        center.observe(LevelChanged.self, on: queue.delivery) { [heard] _ in
          heard.record("all \(index)")
        },
        center.anyMessage.observe(on: queue.delivery) { [heard] _ in heard.record("any \(index)") },
        center.messages(of: LevelChanged.self, about: player).observe(on: queue.delivery) {
          [heard] _ in
          heard.record("about \(index)")
        },
      ]
    }
    center.post(LevelChanged(level: 1), about: player)
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == (0..<3).flatMap { ["all \($0)", "any \($0)", "about \($0)"] })
  }

  @Test("K5 order survives removals and later registrations", arguments: [10, 100, 1_000])
  func stable(count: Int) {
    var tokens = (0..<count).map { index in
      center.observe(Tick.self) { [heard] _ in heard.record("\(index)") }
    }
    for index in stride(from: 0, to: count, by: 3) { tokens[index].cancel() }
    tokens += (count..<count + 5).map { index in
      center.observe(Tick.self) { [heard] _ in heard.record("\(index)") }
    }
    center.post(Tick(number: 1))
    withExtendedLifetime(tokens) {}
    let left = (0..<count).filter { $0 % 3 != 0 } + Array(count..<count + 5)
    #expect(heard.values == left.map { "\($0)" })
  }

  @Test("K6 nested immediate posts run depth first")
  func depthFirst() {
    let first = center.observe(Tick.self) { [center, heard] tick in
      heard.record("first \(tick.number)")
      if tick.number < 3 { center.post(Tick(number: tick.number + 1)) }
    }
    let second = center.observe(Tick.self) { [heard] in heard.record("second \($0.number)") }
    center.post(Tick(number: 1))
    withExtendedLifetime((first, second)) {}
    #expect(
      heard.values == ["first 1", "first 2", "first 3", "second 3", "second 2", "second 1"])
  }

  @Test("K6 all observers of one queue hear posts of many threads in one order", arguments: [2, 8])
  func oneOrder(width: Int) {
    let (one, other) = (Recorder<Int>(), Recorder<Int>())
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { one.record($0.number) },
      center.observe(Tick.self, on: queue.delivery) { other.record($0.number) },
    ]
    onThreads(width) { [center] thread in
      for number in 0..<200 { center.post(Tick(number: thread * 1_000 + number)) }
    }
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(one.count == width * 200)
    #expect(one.values == other.values)
  }

  @Test("K6 two centers that share a queue share its order")
  func twoCenters() {
    let other = MessageCenter()
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record("one \($0.number)") },
      other.observe(Tick.self, on: queue.delivery) { [heard] in heard.record("two \($0.number)") },
    ]
    queue.hold()
    for number in 0..<3 {
      center.post(Tick(number: number))
      other.post(Tick(number: number))
    }
    queue.letGo()
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == (0..<3).flatMap { ["one \($0)", "two \($0)"] })
  }

  @Test("K6 E7 observers on a concurrent queue run one at a time, in order")
  func concurrentQueue() async throws {
    let queue = TestQueue(attributes: .concurrent)
    let numbers = Inbox<Int>()
    let overlap = OverlapDetector()
    let token = center.observe(Tick.self, on: queue.delivery) { tick in
      overlap.run { numbers.record(tick.number) }
    }
    for number in 0..<2_000 { center.post(Tick(number: number)) }
    let values = await numbers.values(count: 2_000)
    withExtendedLifetime(token) {}
    #expect(values == Array(0..<2_000))
    #expect(!overlap.hasOverlapped)
  }
}
