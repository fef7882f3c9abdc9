import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

/// Calls that are on their way to another place while something ends.
@Suite("Deliveries: scenarios", .ownThread)
struct DeliveryScenarioTests {
  let counter = Counter()
  let queue = TestQueue()

  private var delivery: Delivery { queue.delivery }

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

  @Test("A registration that is ended with a delivery on its way is told no more")
  func registrationEnds() {
    let owner = SharedLog()
    let registration = counter.changes(of: \.double).observe(owner: owner, on: delivery) {
      owner, _ in owner.lines.record("told")
    }
    queue.hold()
    counter.count = 1
    registration.cancel()
    queue.letGo()
    queue.flush()
    #expect(owner.lines.count == 0)
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

  @Test("A token that is replaced with a delivery on its way is told no more")
  func replaced() {
    let owner = SharedLog()
    var token = counter.changes(of: \.count).observe(on: delivery) { change in
      owner.lines.record("first \(change.new)")
    }
    queue.hold()
    counter.count = 1
    token = counter.changes(of: \.count, options: .initial).observe(on: delivery) { change in
      owner.lines.record("second \(change.new)")
    }
    counter.count = 2
    queue.letGo()
    queue.flush()
    #expect(owner.lines.values == ["second 1", "second 2"])
    withExtendedLifetime(token) {}
  }

  @Test("A call on a queue that ends its own observation is the last")
  func endedInside() {
    let owner = SharedLog()
    let registration = Slot<Registration>()
    queue.hold()
    registration.set(
      counter.changes(of: \.count).observe(owner: owner, on: delivery) { owner, change in
        owner.lines.record("\(change.new)")
        registration.value?.cancel()
      })
    for value in 1...3 { counter.count = value }
    queue.letGo()
    queue.flush()
    #expect(owner.lines.values == ["1"])
    #expect(registration.value?.isActive == false)
  }

  @Test("A nested path's values are those of the time of the change, though its objects have gone")
  func valuesOfTheTime() {
    final class Root: SharedObservable {
      private let registrar = KVORegistrar()
      private let state = Locked<Counter?>(nil)
      var counter: Counter? {
        get {
          registrar.access(self, keyPath: \.counter)
          return state.withLock { $0 }
        }
        set {
          registrar.withMutation(of: self, keyPath: \.counter) {
            let old = state.withLock { state in
              defer { state = newValue }
              return state
            }
            withExtendedLifetime(old) {}
          }
        }
      }
    }
    let root = Root()
    let heard = Recorder<String>()
    let token = root.changes(of: \.counter?.count, options: .old).observe(on: delivery) { change in
      let now = root.counter == nil ? "gone" : "there"
      heard.record("\((change.old ?? nil) ?? -1) -> \(change.new ?? -1) \(now)")
    }
    queue.hold()
    root.counter = Counter()
    root.counter?.count = 5
    root.counter = nil
    queue.letGo()
    queue.flush()
    #expect(heard.values == ["-1 -> 0 gone", "0 -> 5 gone", "5 -> -1 gone"])
    withExtendedLifetime((token, root)) {}
  }

  @Test("The oldest changes are kept where that is asked for, and the others counted")
  func oldest() {
    let owner = SharedLog()
    queue.hold()
    let registration = counter.changes(of: \.count, options: .old).observe(
      owner: owner, on: delivery, buffering: .oldest(2)
    ) { owner, change in owner.lines.record("\(change.old ?? -1) -> \(change.new)") }
    for value in 1...5 { counter.count = value }
    #expect(registration.droppedCount == 3)
    queue.letGo()
    queue.flush()
    #expect(owner.lines.values == ["0 -> 1", "1 -> 2"])
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

  @Test(
    "K6 Changes of many threads arrive on one queue, each thread's in order", arguments: [2, 8])
  func oneObjectManyThreads(width: Int) {
    let heard = Recorder<KVOChange<Int>>()
    let meter = Meter()
    let token = meter.changes(of: \.count).observe(on: delivery) { heard.record($0) }
    onThreads(width) { _ in for _ in 0..<100 { meter.increment() } }
    queue.flush()
    #expect(heard.values.map(\.new) == Array(1...width * 100))
    withExtendedLifetime(token) {}
  }

  // MARK: Beside the standard library

  @Test("Tracking is no part of a transaction: it is told at the first change")
  func trackingInTransaction() {
    let (radio, player) = (Radio(), Player())
    let tracked = Recorder<String>()
    withObservationTracking {
      _ = radio.volume
    } onChange: {
      tracked.record("radio")
    }
    withObservationTracking {
      _ = player.level
    } onChange: {
      tracked.record("player")
    }
    KVOTransaction.perform {
      radio.volume = 1
      #expect(tracked.values == ["radio"])
      player.level = 1
      #expect(tracked.values == ["radio", "player"])
    }
    #expect(tracked.count == 2)
  }

  @Test("Tracking hears of what the proxies of collections change")
  func trackingProxies() {
    let (radio, player) = (Radio(), Player())
    let tracked = Recorder<String>()
    withObservationTracking {
      _ = radio.presets
    } onChange: {
      tracked.record("presets")
    }
    withObservationTracking {
      _ = player.tags
    } onChange: {
      tracked.record("tags")
    }
    radio.mutableArray(\.presets).append("a")
    player.mutableSet(\.tags).insert("b")
    #expect(tracked.values == ["presets", "tags"])
  }

  @Test("An observer may track what it observes, and is told once of each change")
  func trackingInHandler() {
    let log = Log()
    let tracked = Recorder<Int>()
    let player = Player()
    log.kvo.observe(player, \.line, options: .initial) { log, player, change in
      log.lines.append(change.new)
      let number = log.lines.count
      withObservationTracking {
        _ = player.line
      } onChange: {
        tracked.record(number)
      }
    }
    player.title = "a"
    player.artist = "b"
    #expect(log.lines == [": ", ": a", "b: a"])
    #expect(tracked.values == [1, 2])
  }
}

@MainActor
@Suite("The main actor: scenarios", .ownThread)
struct MainActorScenarioTests {
  let stage = Stage()
  let screen = MainActorTests.Screen()

  @Test("A transaction on the main actor is one call, its prior call made before")
  func transaction() {
    screen.kvo.observe(stage, \.scene, options: [.prior, .old]) { screen, stage, change in
      screen.lines.append("\(change.phase) \(change.old ?? "-") \(change.new)")
    }
    KVOTransaction.perform {
      stage.scene = "Night"
      stage.light = 1
      stage.scene = "Day"
    }
    #expect(screen.lines == ["prior  ", "changed  Day"])
  }

  @Test("A change that another thread makes during a transaction of the main actor is told too")
  func strayedInTransaction() async {
    let (told, tell) = AsyncStream.makeStream(of: Int.self)
    screen.kvo.observe(stage, \.counter.count) { screen, _, change in
      MainActor.preconditionIsolated()
      tell.yield(change.new)
    }
    let counter = stage.counter
    KVOTransaction.perform {
      onThread { counter.count = 1 }()
      counter.count = 2
    }
    var iterator = told.makeAsyncIterator()
    #expect(await iterator.next() == 2)
    #expect(await iterator.next() == 2)
    // What is told of the stray change is what is there when it is.
    counter.count = 3
    #expect(await iterator.next() == 3)
  }

  @Test("A stray change of an observation that has ended meanwhile is not told")
  func strayedAfterEnd() async {
    screen.kvo.observe(stage, \.counter.count) { screen, _, change in
      screen.lines.append("\(change.new)")
    }
    let counter = stage.counter
    onThread { counter.count = 1 }()
    screen.kvo.unobserve(stage)
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
    #expect(screen.lines.isEmpty)
  }

  @Test("A stray change of an object that has died meanwhile is not told")
  func strayedAfterDeath() async {
    var stage: Stage? = Stage()
    weak let weakStage = stage
    screen.kvo.observe(stage!, \.counter.count) { screen, _, change in
      screen.lines.append("\(change.new)")
    }
    let counter = stage!.counter
    onThread { counter.count = 1 }()
    stage = nil
    #expect(weakStage == nil)
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
    counter.count = 2
    #expect(screen.lines.isEmpty)
    #expect(screen.kvo.observationCount == 0)
  }
}
