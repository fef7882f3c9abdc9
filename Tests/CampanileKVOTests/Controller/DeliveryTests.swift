import Campanile
import CampanileKVO
import Dispatch
import Observation
import Synchronization
import Testing

@Suite("Deliveries and sequences", .ownThread)
struct DeliveryTests {
  let counter = Counter()
  let owner = SharedLog()

  private func drain(_ queue: DispatchQueue) async {
    await withCheckedContinuation { done in queue.async { done.resume() } }
  }

  @Test("A handler on a queue runs there")
  func queue() async {
    let queue = DispatchQueue(label: "kvo")
    counter.changes(of: \.count).observe(owner: owner, on: .queue(queue)) { owner, change in
      dispatchPrecondition(condition: .onQueue(queue))
      owner.lines.record("\(change.new)")
    }
    counter.count = 1
    await drain(queue)
    #expect(owner.lines.values == ["1"])
  }

  @Test("The initial call is made on the queue too, before the changes")
  func initialOnQueue() async {
    let queue = DispatchQueue(label: "kvo")
    queue.suspend()
    counter.changes(of: \.count, options: .initial).observe(owner: owner, on: .queue(queue)) {
      $0.lines.record("\($1.phase) \($1.new)")
    }
    counter.count = 1
    queue.resume()
    await drain(queue)
    #expect(owner.lines.values == ["initial 0", "changed 1"])
  }

  @Test("A handler on the main actor is isolated to it")
  func main() async {
    @MainActor final class Screen {
      var values: [Int] = []
    }
    let screen = Screen()
    let counter = counter
    let (told, tell) = AsyncStream.makeStream(of: Int.self)
    counter.changes(of: \.count).observe(owner: screen, on: .main) { screen, change in
      screen.values.append(change.new)
      tell.yield(change.new)
    }
    await Task.detached { counter.count = 1 }.value
    var iterator = told.makeAsyncIterator()
    #expect(await iterator.next() == 1)
    #expect(await screen.values == [1])
  }

  // MARK: Sources

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

  @Test("Changes are observed asynchronously, one at a time")
  func async() async {
    let (told, tell) = AsyncStream.makeStream(of: Int.self)
    let token = counter.changes(of: \.count).observeAsync { change in
      await Task.yield()
      tell.yield(change.new)
    }
    counter.count = 1
    counter.count = 2
    var iterator = told.makeAsyncIterator()
    #expect(await iterator.next() == 1)
    #expect(await iterator.next() == 2)
    withExtendedLifetime(token) {}
  }

  @Test("A source is followed for as long as it or an observer is there")
  func sourceLife() {
    let heard = Recorder<Int>()
    var token: ObservationToken? = counter.changes(of: \.count).observe { heard.record($0.new) }
    counter.count = 1
    #expect(token?.isActive == true)
    token = nil
    counter.count = 2
    #expect(heard.values == [1])
  }

  @Test("With initial, each observer of a source begins with the newest value")
  func sourceInitial() {
    let changes = counter.changes(of: \.count, options: .initial)
    let heard = Recorder<String>()
    let first = changes.observe { heard.record("first \($0.phase) \($0.new)") }
    counter.count = 3
    let second = changes.observe { heard.record("second \($0.phase) \($0.new)") }
    #expect(heard.values == ["first initial 0", "first changed 3", "second initial 3"])
    withExtendedLifetime((first, second)) {}
  }

  @Test("A sequence has every change, in order")
  func sequence() async {
    let values = counter.changes(of: \.count, options: .old).values()
    for value in 1...5 { counter.count = value }
    var heard: [String] = []
    for await change in values {
      heard.append("\(change.old ?? -1) -> \(change.new)")
      if change.new == 5 { break }
    }
    #expect(heard == ["0 -> 1", "1 -> 2", "2 -> 3", "3 -> 4", "4 -> 5"])
  }

  @Test("A sequence that keeps the newest leaves out the others, and counts them")
  func newest() async {
    let values = counter.changes(of: \.count).values(buffering: .newest(1))
    for value in 1...5 { counter.count = value }
    var iterator = values.makeAsyncIterator()
    #expect(await iterator.next()?.new == 5)
    #expect(values.droppedCount == 4)
  }

  @Test("A sequence ends with the observed object")
  func sequenceEnd() async {
    var counter: Counter? = Counter()
    let values = counter!.changes(of: \.count).values()
    counter?.count = 1
    counter = nil
    var heard: [Int] = []
    for await change in values { heard.append(change.new) }
    #expect(heard == [1])
  }

  @Test("Two readers each have every change")
  func twoReaders() async {
    let values = counter.changes(of: \.count).values()
    var first = values.makeAsyncIterator()
    var second = values.makeAsyncIterator()
    counter.count = 1
    #expect(await first.next()?.new == 1)
    #expect(await second.next()?.new == 1)
  }

  @Test("A sequence in a canceled task ends at once")
  func canceled() async {
    let values = counter.changes(of: \.count).values()
    let task = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      var count = 0
      for await _ in values { count += 1 }
      return count
    }
    #expect(await task.value == 0)
  }

  @Test("Releasing a sequence, and what reads it, ends what it follows")
  func sequenceRelease() {
    final class Costly: SharedObservable {
      private let registrar = KVORegistrar()
      let reads = LiveCount()
      var value: Int {
        get {
          registrar.access(self, keyPath: \.value)
          reads.value.wrappingAdd(1, ordering: .relaxed)
          return 0
        }
        set { registrar.withMutation(of: self, keyPath: \.value) {} }
      }
    }
    // Whoever follows it reads it at each change.
    let costly = Costly()
    func readsOfOneChange() -> Int {
      let before = costly.reads.current
      costly.value = 1
      return costly.reads.current - before
    }
    #expect(readsOfOneChange() == 0)
    var values: ValueSequence<KVOChange<Int>>? = costly.changes(of: \.value).values()
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
    final class Holder: SharedObservable {
      private let registrar = KVORegistrar()
      private let state = Locked<Counter?>(nil)
      var counter: Counter? {
        get {
          registrar.access(self, keyPath: \.counter)
          return state.withLock { $0 }
        }
        set {
          registrar.withMutation(of: self, keyPath: \.counter) { state.withLock { $0 = newValue } }
        }
      }
    }
    let holder = Holder()
    let (first, second) = (Counter(), Counter())
    let values = holder.changes(of: \.counter?.double).values()
    for counter in [first, second] {
      onThread { holder.counter = counter }()
      onThread { counter.count = 1 }()
    }
    first.count = 100
    holder.counter = nil
    var heard: [Int] = []
    for await change in values {
      heard.append(change.new ?? -1)
      if change.new == nil { break }
    }
    #expect(heard == [0, 2, 0, 2, -1])
  }
}
