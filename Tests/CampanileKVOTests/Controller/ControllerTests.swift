import Campanile
import CampanileKVO
import Testing

@Suite("KVOController", .ownThread)
struct ControllerTests {
  let log = Log()
  let radio = Radio()

  private func append(_ name: String) -> (Log, Radio, KVOChange<Int>) -> Void {
    { log, _, change in log.lines.append("\(name) \(change.new)") }
  }

  // MARK: Policies

  @Test("Ignore leaves the observation there is, and says so")
  func ignore() {
    let first = log.kvo.observe(radio, \.volume, options: [], append("first"))
    #expect(first.outcome == .added)
    let second = log.kvo.observe(radio, \.volume, options: [], append("second"))
    #expect(second.outcome == .alreadyObserved)
    #expect(second.registration == first.registration)
    radio.volume = 1
    #expect(log.lines == ["first 1"])
  }

  @Test("Replace ends the observation there is")
  func replace() {
    let first = log.kvo.observe(radio, \.volume, options: [], append("first"))
    let second = log.kvo.observe(radio, \.volume, policy: .replace, append("second"))
    #expect(second.outcome == .added)
    #expect(!first.registration.isActive && second.registration.isActive)
    radio.volume = 1
    #expect(log.lines == ["second 1"])
  }

  @Test("Append makes another one, after the first")
  func appendPolicy() {
    let first = log.kvo.observe(radio, \.volume, options: [], append("first"))
    let second = log.kvo.observe(radio, \.volume, policy: .append, append("second"))
    #expect(second.outcome == .added)
    #expect(second.registration != first.registration)
    radio.volume = 1
    #expect(log.lines == ["first 1", "second 1"])
    #expect(first.registration.isActive && second.registration.isActive)
    #expect(log.kvo.observationCount == 2)
  }

  @Test("Ignore with initial makes no initial call")
  func ignoredInitial() {
    log.kvo.observe(radio, \.volume, options: .initial, append("first"))
    log.kvo.observe(radio, \.volume, options: .initial, append("second"))
    #expect(log.lines == ["first 0"])
  }

  @Test("What has been unobserved can be observed again")
  func again() {
    log.kvo.observe(radio, \.volume, options: [], append("first"))
    log.kvo.unobserve(radio, \.volume)
    #expect(log.kvo.observe(radio, \.volume, options: [], append("second")).outcome == .added)
    radio.volume = 1
    #expect(log.lines == ["second 1"])
  }

  @Test("Two controllers observe the same key path independently")
  func twoControllers() {
    let other = Log()
    log.kvo.observe(radio, \.volume, options: [], append("first"))
    #expect(other.kvo.observe(radio, \.volume, options: [], append("second")).outcome == .added)
    radio.volume = 1
    #expect(log.lines == ["first 1"] && other.lines == ["second 1"])
  }

  // MARK: Unobserving

  @Test("One key path of an object is unobserved, the others stay")
  func unobserveKeyPath() {
    log.kvo.observe(radio, \.volume, options: [], append("volume"))
    log.kvo.observe(radio, \.station) { log, _, change in log.lines.append(change.new) }
    log.kvo.unobserve(radio, \.volume)
    radio.volume = 1
    radio.station = "One"
    #expect(log.lines == ["One"])
  }

  @Test("An object is unobserved, the others stay")
  func unobserveObject() {
    let other = Radio()
    log.kvo.observe(radio, \.volume, options: [], append("one"))
    log.kvo.observe(radio, \.station) { log, _, change in log.lines.append(change.new) }
    log.kvo.observe(other, \.volume, options: [], append("other"))
    log.kvo.unobserve(radio)
    radio.volume = 1
    radio.station = "One"
    other.volume = 2
    #expect(log.lines == ["other 2"])
  }

  @Test("Everything is unobserved, and the controller can be used again")
  func unobserveAll() {
    log.kvo.observe(radio, \.volume, options: [], append("first"))
    log.kvo.unobserveAll()
    radio.volume = 1
    #expect(log.lines.isEmpty)
    #expect(log.kvo.observationCount == 0)
    log.kvo.observe(radio, \.volume, options: [], append("second"))
    radio.volume = 2
    #expect(log.lines == ["second 2"])
  }

  @Test("Unobserving what is not observed does nothing")
  func unobserveNothing() {
    log.kvo.unobserve(radio, \.volume)
    log.kvo.unobserve(radio)
    log.kvo.unobserveAll()
    log.kvo.observe(radio, \.volume, options: [], append("first"))
    log.kvo.unobserve(radio, \.station)
    log.kvo.unobserve(Radio())
    radio.volume = 1
    #expect(log.lines == ["first 1"])
  }

  @Test("Unobserving inside the initial call ends the observation")
  func unobserveInsideInitial() {
    log.kvo.observe(radio, \.volume, options: .initial) { log, radio, change in
      log.lines.append("\(change.new)")
      log.kvo.unobserve(radio, \.volume)
    }
    radio.volume = 1
    #expect(log.lines == ["0"])
    #expect(!log.kvo.isObserving(radio, \.volume))
  }

  @Test("Unobserving inside a call ends the observation, and the others of that change too")
  func unobserveInsideCall() {
    log.kvo.observe(radio, \.volume) { log, radio, change in
      log.lines.append("first")
      log.kvo.unobserveAll()
    }
    log.kvo.observe(radio, \.volume, policy: .append, append("second"))
    radio.volume = 1
    radio.volume = 2
    #expect(log.lines == ["first"])
  }

  @Test("Unobserving inside the prior call spares the change")
  func unobserveInsidePrior() {
    log.kvo.observe(radio, \.volume, options: .prior) { log, radio, change in
      log.lines.append("\(change.phase)")
      log.kvo.unobserve(radio, \.volume)
    }
    radio.volume = 1
    #expect(log.lines == ["prior"])
  }

  @Test("An observer made inside a call hears the next change")
  func observeInsideCall() {
    let second = append("second")
    log.kvo.observe(radio, \.volume) { log, radio, change in
      log.lines.append("first \(change.new)")
      log.kvo.observe(radio, \.volume, policy: .append, second)
    }
    radio.volume = 1
    #expect(log.lines == ["first 1"])
    log.lines = []
    radio.volume = 2
    #expect(log.lines.prefix(2) == ["first 2", "second 2"])
  }

  // MARK: Forms

  final class Panel: KVOChangeHandler {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func volumeChanged(_ radio: Radio, _ change: KVOChange<Int>) {
      lines.append("\(radio.volume) \(change.new)")
    }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
      lines.append("\(type(of: object)) \(change.new)")
    }
  }

  @Test("A method of the owner is called in an observer, which does not keep the owner")
  func method() {
    var panel: Panel? = Panel()
    weak let weakPanel = panel
    panel?.kvo.observe(radio, \.volume) { $0.volumeChanged($1, $2) }
    radio.volume = 3
    #expect(panel?.lines == ["3 3"])
    panel = nil
    #expect(weakPanel == nil)
    radio.volume = 4
  }

  @Test("One method of the owner handles all changes of several objects")
  func generalHandler() {
    let panel = Panel()
    let player = Player()
    panel.kvo.observe(radio, \.volume)
    panel.kvo.observe(player, \.title, options: .initial)
    radio.volume = 3
    player.title = "Aria"
    #expect(panel.lines == ["Player ", "Radio 3", "Player Aria"])
  }

  @Test("The method for all changes is told all there is to a change")
  func generalHandlerIsToldEverything() {
    final class Keeper: KVOChangeHandler {
      var changes: [KVOChange<Any>] = []
      lazy var kvo = KVOController(owner: self)
      func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { changes.append(change) }
    }
    let keeper = Keeper()
    keeper.kvo.observe(radio, \.presets, options: [.old, .prior])
    radio.mutableArray(\.presets).append("a")
    #expect(keeper.changes.map(\.phase) == [.prior, .changed])
    #expect(keeper.changes.map(\.edit) == [.insertion, .insertion])
    #expect(keeper.changes.map { $0.old as? [String] } == [[], []])
    #expect(keeper.changes.map { $0.new as? [String] } == [[], ["a"]])
    #expect(keeper.changes.allSatisfy { $0.path == \Radio.presets })
    #expect(keeper.changes[1].indexes == RangeSet(0..<1))
    #expect(keeper.changes[1].changedPaths == [KVOPath(\Radio.presets)])
  }

  @Test("A token ends its observation when it is released")
  func token() {
    var lines: [String] = []
    var token: ObservationToken? = radio.observe(\.volume, options: .initial) { radio, change in
      lines.append("\(change.new)")
    }
    radio.volume = 3
    token?.pause()
    #expect(token?.isPaused == true)
    radio.volume = 4
    token?.resume()
    radio.volume = 5
    token = nil
    radio.volume = 6
    #expect(lines == ["0", "3", "5"])
  }

  @Test("A paused registration skips changes")
  func pause() {
    let registration = log.kvo.observe(radio, \.volume, options: [], append("volume")).registration
    registration.pause()
    radio.volume = 1
    registration.resume()
    radio.volume = 2
    #expect(log.lines == ["volume 2"])
  }

  // MARK: Looking

  @Test("The description lists objects, key paths, options and place")
  func description() {
    let kvo = log.kvo
    kvo.observe(radio, \.volume, options: [.initial, .old]) { _, _, _ in }
    kvo.observe(Player(), \.title) { _, _, _ in }
    let player = Player()
    kvo.observe(player, \.title) { _, _, _ in }
    let lines = kvo.description.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines[0] == "KVOController of Log")
    #expect(lines[1].hasPrefix("  Radio "))
    #expect(lines[1].contains("[initial, old] (CampanileKVOTests/Controller"))
    #expect(lines[2].contains("Player"))
    withExtendedLifetime(player) {}
  }

  @Test("The number of observations leaves out those of dead objects")
  func count() {
    log.kvo.observe(radio, \.volume) { _, _, _ in }
    log.kvo.observe(Radio(), \.volume) { _, _, _ in }
    #expect(log.kvo.observationCount == 1)
  }

  @Test("Handlers that throw stop nobody, and go to the controller's error handler")
  func errors() {
    let failures = Recorder<String>()
    let owner = Log()
    let kvo = KVOController(owner: owner, onError: { failures.record("\($0.error)") })
    defer { withExtendedLifetime(kvo) {} }
    kvo.observe(radio, \.volume) { _, _, _ in throw TestFailure() }
    kvo.observe(radio, \.volume, policy: .append) { log, _, change in log.lines.append("heard") }
    radio.volume = 1
    #expect(failures.values == ["TestFailure()"])
    #expect(owner.lines == ["heard"])
  }
}
