import Campanile
import CampanileKVO
import Observation
import Testing

/// What the system that this replaces could do, and what it did wrong.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds F: key-value observing", .ownThread)
struct SeedFTests {
  let log = Log()
  let radio = Radio()

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
}

extension SharedLog {
  /// An owner that no test outlives.
  static let forever = SharedLog()
}
