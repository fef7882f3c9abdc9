import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

/// Plain objects inside actors, tasks, sequences and threads, as programs have them.
@Suite("Isolation: scenarios", .ownThread)
struct IsolationScenarioTests {
  /// Keeps plain objects, and observes them.
  actor Room {
    let radio = Radio()
    var heard: [String] = []
    private var token: ObservationToken?
    private lazy var kvo = KVOController(owner: self)

    func start() {
      kvo.observe(radio, \.display, options: .initial) { room, _, change in
        room.assumeIsolated { $0.heard.append("controller \(change.new)") }
      }
      token = radio.observe(\.next?.volume) { _, change in
        self.heard.append("token \(change.new ?? -1)")
      }
    }

    func change(_ volume: Int) {
      radio.volume = volume
      radio.next = Radio()
      radio.next?.volume = volume
    }

    func stop() {
      token = nil
      kvo.unobserveAll()
    }
  }

  @globalActor actor AudioActor {
    static let shared = AudioActor()
  }

  @AudioActor @Observable final class Engine {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var gain = 0
    var isLoud: Bool { gain > 5 }
  }

  @AudioActor final class Meter {
    var heard: [String] = []
    lazy var kvo = KVOController(owner: self)
    func follow(_ engine: Engine) {
      kvo.observe(engine, \.gain, options: .old) { meter, _, change in
        meter.heard.append("\(change.old ?? -1) -> \(change.new)")
      }
      kvo.observe(engine, \.isLoud, options: .distinct) { meter, engine, change in
        meter.heard.append("\(engine.gain) \(change.new)")
      }
    }
  }

  @Test("An actor observes the plain objects it keeps, isolated to itself")
  func inActor() async {
    let room = Room()
    await room.start()
    await room.change(3)
    await room.stop()
    await room.change(4)
    #expect(
      await room.heard == ["controller  0", "controller  3", "token 0", "token 3"])
  }

  @Test("A class of a global actor of the program's own is observed there")
  @AudioActor func globalActor() async {
    let (engine, meter) = (Engine(), Meter())
    meter.follow(engine)
    engine.gain = 3
    await Task { @AudioActor in engine.gain = 8 }.value
    #expect(meter.heard == ["0 -> 3", "3 -> 8", "8 true"])
  }

  @Test("A reader that is canceled while it waits ends, and the others go on")
  func canceledReader() async {
    let counter = Counter()
    let inbox = Inbox<Int>()
    let values = counter.changes(of: \.count).values()
    let reader = Task {
      for await change in values { inbox.record(change.new) }
      return Task.isCancelled
    }
    let other = counter.changes(of: \.count).values()
    counter.count = 1
    _ = await inbox.values(count: 1)
    reader.cancel()
    #expect(await reader.value)
    counter.count = 2
    #expect(inbox.values == [1])
    var heard: [Int] = []
    for await change in other {
      heard.append(change.new)
      if change.new == 2 { break }
    }
    #expect(heard == [1, 2])
  }

  @Test("A sequence that was left in the middle has ended for that reader alone")
  func brokenOff() async {
    let counter = Counter()
    let first = counter.changes(of: \.count, options: .initial).values()
    let second = counter.changes(of: \.double, options: .old).values()
    for value in 1...4 { counter.count = value }
    var heard: [Int] = []
    for await change in first {
      heard.append(change.new)
      if heard.count == 2 { break }
    }
    #expect(heard == [0, 1])
    var doubles: [String] = []
    for await change in second {
      doubles.append("\(change.old ?? -1) \(change.new)")
      if change.new == 8 { break }
    }
    #expect(doubles == ["0 2", "2 4", "4 6", "6 8"])
  }

  @Test("Increments of many threads arrive on a queue, the newest last", arguments: [2, 8])
  func queueDelivery(width: Int) {
    let counter = Counter()
    let owner = SharedLog()
    // There may be more than one job delivers.
    let queue = TestQueue()
    let heard = Recorder<Int>()
    let registrations = [
      counter.changes(of: \.count).observe(owner: owner, on: queue.delivery) {
        heard.record($1.new)
      },
      counter.changes(of: \.double).observe(owner: owner, on: queue.delivery) {
        heard.record(-$1.new)
      },
    ]
    onThreads(width) { _ in for _ in 0..<100 { counter.increment() } }
    queue.flush()
    let counts = heard.values.filter { $0 > 0 }
    #expect(counts == counts.sorted())
    #expect(counts.last == width * 100)
    #expect(heard.values.last(where: { $0 < 0 }) == -width * 200)
    for registration in registrations { registration.cancel() }
    counter.increment()
    queue.flush()
    #expect(heard.values.filter { $0 > 0 } == counts)
    withExtendedLifetime(owner) {}
  }

  @Test(
    "Tokens come and go on threads while others change, and the one that stays hears the end",
    arguments: [2, 8])
  func comingAndGoing(width: Int) {
    let counter = Counter()
    let disordered = Recorder<[Int]>()
    let last = Recorder<Int>()
    let stays = counter.observe(\.double) { _, change in last.record(change.new) }
    onThreads(width) { index in
      for _ in 0..<50 {
        if index % 2 == 0 {
          counter.increment()
        } else {
          let heard = Recorder<Int>()
          let token = counter.observe(\.double, options: .initial) { heard.record($1.new) }
          counter.increment()
          token.cancel()
          let values = heard.values
          if values != values.sorted() { disordered.record(values) }
        }
      }
    }
    #expect(disordered.values == [])
    #expect(last.values.last == width * 100)
    #expect(last.values == last.values.sorted())
    withExtendedLifetime(stays) {}
  }

  @Test(
    "Of many threads one makes the only call of an observation that is to be told once",
    arguments: [2, 8])
  func once(width: Int) {
    for _ in 0..<20 {
      let counter = Counter()
      let calls = Recorder<Int>()
      let token = counter.observe(\.double, options: .once) { _, change in calls.record(change.new)
      }
      onThreads(width) { _ in for _ in 0..<10 { counter.increment() } }
      #expect(calls.count == 1)
      #expect(!token.isActive)
    }
  }

  @Test(
    "A source on the way is replaced and changed by many threads: the last told is the newest",
    arguments: [2, 8])
  func replacedOnTheWay(width: Int) {
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
    let counters = (0..<3).map { _ in Counter() }
    let queue = DispatchQueue(label: "kvo")
    let inline = Recorder<Int?>()
    let queued = Recorder<Int?>()
    let tokens = [
      holder.observe(\.counter?.double) { _, change in inline.record(change.new) },
      holder.changes(of: \.counter?.double, options: [.old, .distinct]).observe(on: .queue(queue)) {
        queued.record($0.new)
      },
    ]
    onThreads(width) { index in
      for round in 0..<60 {
        if (index + round) % 3 == 0 {
          holder.counter = round % 5 == 0 ? nil : counters[round % 3]
        } else {
          counters[(index + round) % 3].increment()
        }
      }
    }
    queue.sync {}
    #expect(inline.values.last == .some(holder.counter?.double))
    #expect(queued.values.last == .some(holder.counter?.double))
    withExtendedLifetime(tokens) {}
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
    #expect(oldest.droppedCount == 3)
    #expect(newest.droppedCount == 3)
  }
}
