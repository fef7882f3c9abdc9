import Campanile
import CampanileKVO
import Observation
import Testing

/// A controller as programs use it, from one end of a life to the other.
@Suite("KVOController: scenarios", .ownThread)
struct ControllerScenarioTests {
  let log = Log()
  let radio = Radio()

  @Test("The number of observations after each way to end some")
  func counts() {
    let other = Radio()
    let kvo = log.kvo
    kvo.observe(radio, \.volume) { _, _, _ in }
    let stations = (0..<3).map { _ in
      kvo.observe(radio, \.station, policy: .append) { _, _, _ in }.registration
    }
    kvo.observe(other, \.station) { _, _, _ in }
    kvo.observe(other, \.next?.volume) { _, _, _ in }
    #expect(kvo.observationCount == 6)
    #expect(Set(stations).count == 3 && stations.allSatisfy(\.isActive))
    kvo.unobserve(radio, \.display)
    kvo.unobserve(radio, \.next?.volume)
    #expect(kvo.observationCount == 6)
    kvo.unobserve(radio, \.station)
    #expect(stations.allSatisfy { !$0.isActive })
    #expect(kvo.observationCount == 3)
    kvo.unobserve(other)
    #expect(kvo.observationCount == 1)
    #expect(kvo.isObserving(radio, \.volume))
    kvo.unobserveAll()
    #expect(kvo.observationCount == 0)
    #expect(!kvo.isObserving(radio, \.volume))
  }

  @Test("The description follows what is observed, with every option")
  func description() {
    let owner = SharedLog()
    let kvo = KVOController(owner: owner)
    let counter = Counter()
    kvo.observe(counter, \.count, options: [.old, .distinct]) { _, _, _ in }
    kvo.observe(counter, \.double, options: .once) { _, _, _ in }
    kvo.observe(counter, of: { ($0.count, $0.double) }, options: [.initial, .old]) { _, _, _ in }
    let lines = kvo.description.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(lines[0] == "KVOController of SharedLog")
    #expect(lines[1].contains("[old, distinct]"))
    #expect(lines[2].contains("[once]"))
    #expect(lines[3].contains("\\Counter.self [initial, old] ("))
    kvo.unobserve(counter, \.double)
    let remaining = kvo.description.split(separator: "\n")
    #expect(remaining == [lines[0], lines[1], lines[3]])
    kvo.unobserveAll()
    #expect(kvo.description == "KVOController of SharedLog")
    withExtendedLifetime((owner, counter)) {}
  }

  class Panel: KVOControllerOwner {
    let kvoControllers = KVOControllers()
    let heard = Recorder<Int>()
    func follow(_ radio: Radio) {
      kvoController.observe(radio, \.volume) { panel, _, change in panel.heard.record(change.new) }
    }
    func leave(_ radio: Radio) { kvoController.unobserve(radio) }
  }

  final class SidePanel: Panel {
    func followFromBelow(_ radio: Radio) {
      kvoController.observe(radio, \.volume) { panel, _, change in panel.heard.record(-change.new) }
    }
    func leaveFromBelow(_ radio: Radio) { kvoController.unobserve(radio) }
  }

  @Test("The classes of a hierarchy have a controller each, and none ends what another observes")
  func ofHierarchy() {
    var panel: SidePanel? = SidePanel()
    let heard = panel!.heard
    panel?.follow(radio)
    panel?.followFromBelow(radio)
    radio.volume = 1
    panel?.leaveFromBelow(radio)
    radio.volume = 2
    panel?.leave(radio)
    radio.volume = 3
    #expect(heard.values == [1, -1, 2])
    panel?.follow(radio)
    panel?.followFromBelow(radio)
    panel = nil
    radio.volume = 4
    #expect(heard.count == 3)
  }

  @Test(
    "A retaining controller lets go of an object with the last observation of it, however it ends")
  func retainedUntilTheLast() {
    let kvo = KVOController(owner: log, retainsObserved: true)
    let other = KVOController(owner: log, retainsObserved: true)
    func make(_ observe: (Radio) -> Void) -> () -> Radio? {
      let radio = Radio()
      observe(radio)
      weak let weakRadio = radio
      return { weakRadio }
    }
    let once = make { kvo.observe($0, \.volume, options: .once) { _, _, _ in } }
    #expect(once() != nil)
    once()?.volume = 1
    #expect(once() == nil)
    let twice = make { radio in
      kvo.observe(radio, \.volume) { _, _, _ in }
      kvo.observe(radio, \.volume, policy: .append) { _, _, _ in }
      kvo.observe(radio, \.volume, policy: .replace) { _, _, _ in }
      kvo.observe(radio, \.station) { _, _, _ in }
      other.observe(radio, \.station) { _, _, _ in }
    }
    if let radio = twice() { kvo.unobserve(radio, \.volume) }
    if let radio = twice() { kvo.unobserve(radio) }
    #expect(twice() != nil)
    other.unobserveAll()
    #expect(twice() == nil)
  }

  @Test("A controller that is first asked for in its owner's deinit observes nothing")
  func ownerInDeinit() {
    final class Late {
      let radio: Radio
      let results: Recorder<KVOResult>
      lazy var kvo = KVOController(owner: self)
      init(_ radio: Radio, _ results: Recorder<KVOResult>) {
        self.radio = radio
        self.results = results
      }
      deinit {
        kvo.unobserveAll()
        results.record(kvo.observe(radio, \.volume, options: .initial) { _, _, _ in })
        #expect(kvo.observationCount == 0)
      }
    }
    let results = Recorder<KVOResult>()
    _ = Late(radio, results)
    radio.volume = 1
    #expect(results.values.map(\.outcome) == [.refused])
    #expect(results.values.allSatisfy { !$0.registration.isActive })
  }

  @Test("The path of a change is told apart by a switch")
  func switching() {
    final class Panel: KVOChangeHandler {
      var lines: [String] = []
      lazy var kvo = KVOController(owner: self)
      func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
        switch change.path {
        case \Radio.volume: lines.append("volume")
        case \Radio.station: lines.append("station")
        default: lines.append("\(change.new)")
        }
      }
    }
    let panel = Panel()
    panel.kvo.observe(radio, \.volume)
    panel.kvo.observe(radio, \.station)
    panel.kvo.observe(radio, \.display)
    radio.volume = 1
    radio.station = "One"
    #expect(panel.lines == ["volume", " 1", "station", "One 1"])
  }
}
