import Campanile
import CampanileKVO
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
