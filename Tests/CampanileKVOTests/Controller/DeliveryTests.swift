import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

/// Calls at another place, also those that are on their way while something ends, and sequences.
@Suite("Deliveries and sequences", .ownThread)
struct DeliveryTests {
  let counter = Counter()
  let queue = TestQueue()

  private var delivery: Delivery { queue.delivery }

  @Test("An actor observes, isolated to itself")
  func actor() async {
    actor Statistics {
      var sum = 0
      private let (told, tell) = AsyncStream.makeStream(of: Int.self)
      func follow(_ counter: Counter) {
        counter.changes(of: \.count).observe(on: self) { statistics, change in
          statistics.sum += change.new
          statistics.tell.yield(statistics.sum)
        }
      }
      func nextSum() async -> Int? {
        var iterator = told.makeAsyncIterator()
        return await iterator.next()
      }
    }
    let statistics = Statistics()
    await statistics.follow(counter)
    counter.count = 3
    #expect(await statistics.nextSum() == 3)
  }

  @Test("Releasing a sequence, and what reads it, ends what it follows")
  func sequenceRelease() {
    // Whoever follows it reads it at each change.
    let gauge = FormsTests.Gauge()
    func readsOfOneChange() -> Int {
      let before = gauge.reads.count
      gauge.level = 1
      return gauge.reads.count - before
    }
    #expect(readsOfOneChange() == 0)
    var values: ValueSequence<KVOChange<Int>>? = gauge.changes(of: \.level).values()
    #expect(readsOfOneChange() == 1)
    var iterator = values?.makeAsyncIterator()
    values = nil
    #expect(readsOfOneChange() == 1)
    iterator = nil
    #expect(readsOfOneChange() == 0)
    withExtendedLifetime((values, iterator)) {}
  }

  @Test(
    "Each sequence of a computed property has every change of its own object", arguments: [1, 2, 8])
  func computedSequences(width: Int) async {
    let counters = (0..<width).map { _ in Counter() }
    defer { withExtendedLifetime(counters) {} }
    let values = counters.map { $0.changes(of: \.double).values() }
    onThreads(width) { index in for value in 1...50 { counters[index].count = value } }
    for sequence in values {
      var heard: [Int] = []
      for await change in sequence {
        heard.append(change.new)
        if heard.count == 50 { break }
      }
      #expect(heard == (1...50).map { $0 * 2 })
    }
  }

  @Test("A sequence of a nested path follows it to other objects, which other threads put there")
  func nestedSequence() async {
    let box = SharedBox<Counter>()
    let (first, second) = (Counter(), Counter())
    let values = box.changes(of: \.content?.double).values()
    for counter in [first, second] {
      onThread { box.content = counter }()
      onThread { counter.count = 1 }()
    }
    first.count = 100
    box.content = nil
    var heard: [Int] = []
    for await change in values {
      heard.append(change.new ?? -1)
      if change.new == nil { break }
    }
    #expect(heard == [0, 2, 0, 2, -1])
  }

  /// Runs what it is given on a queue of its own, as an executor or a run loop would.
  final class Desk: DeliveryTarget {
    let queue = DispatchQueue(label: "desk")
    let mailbox = Mailbox()
    func enqueue(_ job: DeliveryJob) { queue.async { job.run() } }
  }

  @Test("K8 An owner that dies with a delivery on its way is not called")
  func ownerDies() {
    let heard = Recorder<Int>()
    var owner: SharedLog? = SharedLog()
    let registration = counter.changes(of: \.count).observe(owner: owner!, on: delivery) {
      heard.record($1.new)
    }
    queue.hold()
    counter.count = 1
    owner = nil
    queue.letGo()
    queue.flush()
    counter.count = 2
    queue.flush()
    #expect(heard.count == 0)
    #expect(!registration.isActive)
  }

  @Test("A token that is released with deliveries on their way ends them")
  func tokenDies() {
    let heard = Recorder<Int>()
    let live = LiveCount()
    var token: ObservationToken?
    do {
      let probe = Tracked(live)
      token = counter.changes(of: \.count, options: .initial).observe(on: delivery) { change in
        probe.touch()
        heard.record(change.new)
      }
    }
    queue.flush()
    #expect(heard.values == [0])
    queue.hold()
    counter.count = 1
    token = nil
    queue.letGo()
    queue.flush()
    #expect(heard.values == [0])
    #expect(live.current == 0)
    withExtendedLifetime(token) {}
  }

  @Test("A nested path's values are those of the time of the change, though its objects have gone")
  func valuesOfTheTime() {
    let root = SharedBox<Counter>()
    let heard = Recorder<String>()
    let token = root.changes(of: \.content?.count, options: .old).observe(on: delivery) { change in
      let now = root.content == nil ? "gone" : "there"
      heard.record("\((change.old ?? nil) ?? -1) -> \(change.new ?? -1) \(now)")
    }
    queue.hold()
    root.content = Counter()
    root.content?.count = 5
    root.content = nil
    queue.letGo()
    queue.flush()
    #expect(heard.values == ["-1 -> 0 gone", "0 -> 5 gone", "5 -> -1 gone"])
    withExtendedLifetime((token, root)) {}
  }

  @Test("A handler runs at a place of the program's own")
  func target() {
    let desk = Desk()
    let heard = Recorder<String>()
    let changes = counter.changes(of: \.double, options: [.initial, .old])
    let token = changes.observe(on: .target(desk)) { change in
      dispatchPrecondition(condition: .onQueue(desk.queue))
      heard.record("\(change.old ?? -1) -> \(change.new)")
    }
    for value in 1...3 { counter.count = value }
    desk.queue.sync {}
    #expect(heard.values == ["-1 -> 0", "0 -> 2", "2 -> 4", "4 -> 6"])
    withExtendedLifetime(token) {}
  }
}
