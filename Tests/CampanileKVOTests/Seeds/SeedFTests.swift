import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

/// What the system that this replaces could do, and what it did wrong.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds F: key-value observing", .ownThread)
struct SeedFTests {
  let log = Log()
  let radio = Radio()

  @Test("F1 a second observation of a path is reported; ignore, replace or append")
  func f1() {
    var results: [KVOResult] = []
    results.append(log.kvo.observe(radio, \.volume) { log, _, _ in log.lines.append("1") })
    results.append(log.kvo.observe(radio, \.volume) { log, _, _ in log.lines.append("2") })
    results.append(
      log.kvo.observe(radio, \.volume, policy: .append) { log, _, _ in log.lines.append("3") })
    radio.volume = 1
    #expect(log.lines == ["1", "3"])
    results.append(
      log.kvo.observe(radio, \.volume, policy: .replace) { log, _, _ in log.lines.append("4") })
    radio.volume = 2
    #expect(log.lines == ["1", "3", "4"])
    #expect(results.map(\.outcome) == [.added, .alreadyObserved, .added, .added])
    #expect(results[1].registration == results[0].registration)
  }

  @Test("F2 not retained by default, ended by its death, and an observer of itself cannot leak")
  func f2() {
    final class Selfish: Observable {
      @Observed var value = 0
      lazy var kvo = KVOController(owner: self)
      lazy var retaining = KVOController(owner: self, retainsObserved: true)
      func start() {
        kvo.observe(self, \.value) { _, _, _ in }
        retaining.observe(self, \.value) { _, _, _ in }
      }
    }
    var selfish: Selfish? = Selfish()
    weak let weakSelfish = selfish
    selfish?.start()
    selfish?.value = 1
    selfish = nil
    #expect(weakSelfish == nil)
    // Forgotten, and gone: nothing crashes, nothing is left.
    log.kvo.observe(Radio(), \.volume) { _, _, _ in }
    #expect(log.kvo.observationCount == 0)
  }

  @Test("F3 any delivery, with the values captured at the change")
  func f3() async {
    let queue = DispatchQueue(label: "kvo")
    queue.suspend()
    let counter = Counter()
    defer { withExtendedLifetime(counter) {} }
    let owner = SharedLog()
    counter.changes(of: \.count, options: .old).observe(owner: owner, on: .queue(queue)) {
      owner, change in
      owner.lines.record("\(change.old ?? -1) -> \(change.new), now \(counter.count)")
    }
    counter.count = 1
    counter.count = 2
    queue.resume()
    await withCheckedContinuation { done in queue.async { done.resume() } }
    #expect(owner.lines.values == ["0 -> 1, now 2", "1 -> 2, now 2"])
  }

  @Test("F4 Swift key paths of pure Swift classes, without strings and without dynamic dispatch")
  func f4() {
    let player = Player()
    log.kvo.observe(player, \Player.level) { log, _, change in log.lines.append("\(change.new)") }
    player.level = 1
    #expect(log.lines == ["1"])
  }

  @Test("F5 registering and ending are one transition", arguments: [1, 2, 8])
  func f5(width: Int) {
    let counter = Counter()
    defer { withExtendedLifetime(counter) {} }
    let kvo = KVOController(owner: SharedLog.forever)
    defer { withExtendedLifetime(kvo) {} }
    let added = Recorder<Int>()
    onThreads(width) { index in
      for _ in 0..<100 {
        let result = kvo.observe(counter, \.count) { _, _, _ in }
        if result.outcome == .added { added.record(index) }
        kvo.unobserve(counter, \.count)
      }
    }
    #expect(kvo.observationCount == 0)
    #expect(added.count >= 100)
    #expect(kvo.observe(counter, \.count) { _, _, _ in }.outcome == .added)
    kvo.unobserveAll()
  }

  @Test(
    "F5 of many threads that observe the same path one is told that it was added",
    arguments: [1, 2, 8])
  func f5Race(width: Int) {
    for _ in 0..<50 {
      let counter = Counter()
      let kvo = KVOController(owner: SharedLog.forever)
      let heard = Recorder<Int>()
      let added = Recorder<Int>()
      onThreads(width) { index in
        let result = kvo.observe(counter, \.count) { _, _, change in heard.record(index) }
        if result.outcome == .added { added.record(index) }
      }
      counter.count = 1
      #expect(added.count == 1)
      #expect(heard.values == added.values)
      withExtendedLifetime(kvo) {}
    }
  }

  @Test("F6 new is after, old is before")
  func f6() {
    log.kvo.observe(radio, \.volume, options: .old) { log, _, change in
      log.lines.append("from \(change.old ?? -1) to \(change.new)")
    }
    radio.volume = 5
    #expect(log.lines == ["from 0 to 5"])
  }

  @Test("F7 nested paths, dependent properties and collection changes, without another runtime")
  func f7() {
    let player = Player()
    player.current = Track("Aria")
    log.kvo.observe(player, \.current?.title) { log, _, change in
      log.lines.append(change.new ?? "nil")
    }
    log.kvo.observe(player, \.longLine) { log, _, change in log.lines.append(change.new) }
    log.kvo.observe(player, \.tracks) { log, _, change in log.lines.append("\(change.edit)") }
    player.current = Track("Bourree")
    player.title = "Chaconne"
    player.mutableArray(\.tracks).append("Double")
    #expect(log.lines == ["Bourree", ": Chaconne (Chaconne)", "insertion"])
  }

  // MARK: What it could do

  @Test("F one controller observes one path or many, of one object or many")
  func oneOrMany() {
    let other = Radio()
    log.kvo.observe(radio, \.volume) { log, _, change in log.lines.append("\(change.new)") }
    log.kvo.observe(radio, of: { [$0.station] }) { log, _, change in log.lines += change.new }
    log.kvo.observe(other, \.volume) { log, _, change in log.lines.append("other \(change.new)") }
    radio.station = "One"
    radio.volume = 2
    other.volume = 3
    #expect(log.lines == ["One", "2", "other 3"])
    #expect(log.kvo.observationCount == 3)
  }

  @Test("F the key path is in the change")
  func keyPathInChange() {
    var paths: [KVOPath] = []
    let token = radio.observe(\.volume) { _, change in paths.append(change.path) }
    radio.volume = 1
    #expect(paths == [KVOPath(\Radio.volume)])
    #expect(paths[0] == \Radio.volume)
    #expect(!(paths[0] == \Radio.station))
    withExtendedLifetime(token) {}
  }

  @Test("F unobserving inside the initial call works; unobserving nothing is harmless")
  func unobserve() {
    log.kvo.observe(radio, \.volume, options: .initial) { log, radio, change in
      log.lines.append("\(change.new)")
      log.kvo.unobserve(radio, \.volume)
      log.kvo.unobserve(radio, \.volume)
    }
    radio.volume = 1
    #expect(log.lines == ["0"])
  }

  @Test("F a controller is reachable from any object that wants one")
  func reachable() {
    final class Desk: KVOControllerOwner {
      let kvoControllers = KVOControllers()
      var lines: [String] = []
    }
    let desk = Desk()
    desk.kvoController.observe(radio, \.volume) { desk, _, change in
      desk.lines.append("\(change.new)")
    }
    desk.kvoControllerRetaining.observe(radio, \.volume) { desk, _, change in
      desk.lines.append("retaining \(change.new)")
    }
    radio.volume = 1
    #expect(desk.lines == ["1", "retaining 1"])
    #expect(desk.kvoController === desk.kvoController)
  }

  @Test("F a description lists what is observed")
  func description() {
    log.kvo.observe(radio, \.volume, options: .prior) { _, _, _ in }
    #expect(log.kvo.description.contains("Radio"))
    #expect(log.kvo.description.contains("[prior]"))
    #expect(log.kvo.description.contains("SeedFTests.swift"))
  }

  @Test("F observe, change and unobserve from many threads", arguments: [1, 2, 8])
  func threads(width: Int) {
    let counters = (0..<4).map { _ in Counter() }
    defer { withExtendedLifetime(counters) {} }
    let kvo = KVOController(owner: SharedLog.forever)
    defer { withExtendedLifetime(kvo) {} }
    onThreads(width) { index in
      for round in 0..<200 {
        let counter = counters[(index + round) % 4]
        switch round % 5 {
        case 0: kvo.observe(counter, \.count, options: .initial) { _, _, _ in }
        case 1: kvo.observe(counter, \.double, options: .old) { _, _, _ in }
        case 2: kvo.unobserve(counter, \.count)
        case 3: kvo.unobserve(counter)
        default: counter.increment()
        }
      }
    }
    kvo.unobserveAll()
    #expect(kvo.observationCount == 0)
  }
}

extension SharedLog {
  /// An owner that no test outlives.
  static let forever = SharedLog()
}
