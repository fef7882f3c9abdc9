import Campanile
import CampanileKVO
import Observation
import Testing

/// What a source of changes adds to the deliveries of other sources.
@Suite("Deliveries and sequences", .ownThread)
struct DeliveryTests {
  let queue = TestQueue()

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
    "F3 A nested path's values are those of the time of the change, though its objects have gone")
  func valuesOfTheTime() {
    let root = SharedBox<Counter>()
    let heard = Recorder<String>()
    let token = root.changes(of: \.content?.count, options: .old).observe(on: queue.delivery) {
      change in
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

  @Test("A bounded buffer of a key path keeps the oldest or the newest, and ends with its object")
  func bounded() async {
    var counter: Counter? = Counter()
    let oldest = counter!.changes(of: \.count).values(buffering: .oldest(2))
    let newest = counter!.changes(of: \.count, options: .old).values(buffering: .newest(2))
    for value in 1...5 { counter?.count = value }
    counter = nil
    var heard: [String] = []
    for await change in oldest { heard.append("\(change.new)") }
    for await change in newest { heard.append("\(change.old ?? -1) -> \(change.new)") }
    #expect(heard == ["1", "2", "3 -> 4", "4 -> 5"])
    #expect(oldest.registration.droppedCount == 3)
    #expect(newest.registration.droppedCount == 3)
  }
}
