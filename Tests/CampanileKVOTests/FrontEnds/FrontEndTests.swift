import Campanile
import CampanileKVO
import Observation
import TestSupport
import Testing

@Suite("The two front ends", .ownThread)
struct FrontEndTests {
  let log = Log()

  private func follow<Object: Observable & AnyObject, Value>(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options = []
  ) {
    log.kvo.observe(object, keyPath, options: options) { log, _, change in
      let old = change.old.map { "\($0) -> " } ?? ""
      log.lines.append("\(old)\(change.new)")
    }
  }

  // MARK: Inheritance and generics

  @Test("An inherited property is observed through the subclass, macro")
  func inheritedMacro() {
    let remote = RemotePlayer()
    follow(remote, \RemotePlayer.title, .old)
    remote.title = "Aria"
    #expect(log.lines == [" -> Aria"])
  }

  @Test("An inherited property is observed through the superclass, macro")
  func throughTheSuperclassMacro() {
    let remote = RemotePlayer()
    follow(remote as Player, \Player.title)
    remote.title = "Aria"
    #expect(log.lines == ["Aria"])
  }

  @Test("Each level of a hierarchy has a registrar of its own")
  func levels() {
    let remote = RemotePlayer()
    follow(remote, \.address)
    follow(remote, \.title)
    remote.address = "home"
    remote.title = "Aria"
    #expect(log.lines == ["home", "Aria"])
  }

  @Test("An inherited property is observed through the subclass, wrapper")
  func inheritedWrapper() {
    let radio = ClockRadio()
    follow(radio, \ClockRadio.station, .old)
    follow(radio, \.alarm)
    radio.station = "One"
    radio.alarm = 7
    #expect(log.lines == [" -> One", "7"])
  }

  @Test("An overridden property tells the changes of what it overrides")
  func overridden() {
    final class Loud: Radio {
      override var volume: Int {
        get { super.volume + 10 }
        set { super.volume = newValue }
      }
    }
    let radio = Loud()
    follow(radio as Radio, \.volume, .old)
    radio.volume = 3
    #expect(log.lines == ["10 -> 13"])
  }

  @Test("A generic class is observed for each of its types")
  func generic() {
    let numbers = Shelf(1)
    let names = Shelf("a")
    follow(numbers, \.item, .old)
    follow(names, \.item, .old)
    numbers.item = 2
    names.item = "b"
    #expect(log.lines == ["1 -> 2", "a -> b"])
  }

  @Test("A generic function observes a generic class")
  func genericFunction() {
    func observe<Item>(_ shelf: Shelf<Item>) { follow(shelf, \.item) }
    let shelf = Shelf([1])
    observe(shelf)
    shelf.item.append(2)
    #expect(log.lines == ["[1, 2]"])
  }

  // MARK: In place

  @Test("A change in place is told once, with the value before it, macro")
  func inPlaceMacro() {
    let player = Player()
    follow(player, \.tracks, .old)
    player.tracks.append("Aria")
    player.level += 1
    #expect(log.lines == ["[] -> [\"Aria\"]"])
  }

  @Test("A change in place is told once, with the value before it, wrapper")
  func inPlaceWrapper() {
    let radio = Radio()
    follow(radio, \.presets, .old)
    radio.presets.append("One")
    radio.presets[0] += "!"
    #expect(log.lines == ["[] -> [\"One\"]", "[\"One\"] -> [\"One!\"]"])
  }

  @Test("A change through inout is told once")
  func throughInout() {
    func fill(_ presets: inout [String]) {
      presets.append("One")
      presets.append("Two")
    }
    let radio = Radio()
    follow(radio, \.presets)
    fill(&radio.presets)
    #expect(log.lines == ["[\"One\", \"Two\"]"])
  }

  @Test("A change in place that throws is told")
  func inPlaceThrowing() {
    func fail(_ volume: inout Int) throws {
      volume = 3
      throw TestFailure()
    }
    let radio = Radio()
    follow(radio, \.volume)
    #expect(throws: TestFailure.self) { try fail(&radio.volume) }
    #expect(log.lines == ["3"])
  }

  @Test("A set in the middle of a change in place is refused with a sentence")
  func setWhileChanging() async {
    func expectRefusal(_ result: ExitTest.Result?, _ verb: String) {
      expect(result, says: "An '@Observed' property is \(verb) while it is being changed in place")
    }
    let unobserved = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let radio = Radio()
      FrontEndTests.change(&radio.presets) { radio.presets = ["lost"] }
    }
    expectRefusal(unobserved, "set")
    let observed = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let radio = Radio()
      let token = radio.observe(\.presets) { _, _ in }
      FrontEndTests.change(&radio.presets) { radio.presets = ["lost"] }
      withExtendedLifetime(token) {}
    }
    expectRefusal(observed, "set")
    let read = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let radio = Radio()
      FrontEndTests.change(&radio.presets) { _ = radio.presets }
    }
    expectRefusal(read, "used")
  }

  private static func change(_ presets: inout [String], _ meanwhile: () -> Void) {
    presets.append("One")
    meanwhile()
  }

  @Test("A set after a change in place, and by its observers, is none in the middle of it")
  func setAfterChanging() {
    let radio = Radio()
    log.kvo.observe(radio, \.presets, options: .prior) { log, radio, change in
      log.lines.append("\(change.phase) \(change.new)")
      if change.new.count == 1 && change.phase == .changed { radio.presets = [] }
    }
    radio.presets.append("One")
    #expect(radio.presets == [])
    #expect(
      log.lines == ["prior []", "changed [\"One\"]", "prior [\"One\"]", "changed []"])
  }

  @Test("A change through a writable key path is told")
  func throughKeyPath() {
    let radio = Radio()
    follow(radio, \.volume)
    let keyPath = \Radio.volume
    radio[keyPath: keyPath] = 4
    radio[keyPath: keyPath] += 1
    #expect(log.lines == ["4", "5"])
  }

  // MARK: Equal values

  @Test("Setting an equal value is a change for the wrapper, and spared by the macro")
  func equalValues() {
    let radio = Radio()
    let player = Player()
    follow(radio, \.volume)
    follow(player, \.level)
    radio.volume = 0
    player.level = 0
    #expect(log.lines == ["0"])
  }

  // MARK: Beside the standard library

  @Test("withObservationTracking works on an observed object, macro")
  func trackingMacro() {
    let player = Player()
    follow(player, \.title)
    let tracked = Recorder<String>()
    withObservationTracking {
      _ = player.title
    } onChange: {
      tracked.record("will")
    }
    player.title = "Aria"
    player.title = "Bourree"
    #expect(tracked.values == ["will"])
    #expect(log.lines == ["Aria", "Bourree"])
  }

  @Test("withObservationTracking works on an observed object, wrapper")
  func trackingWrapper() {
    let radio = Radio()
    follow(radio, \.volume)
    let tracked = Recorder<String>()
    withObservationTracking {
      _ = radio.display
    } onChange: {
      tracked.record("will")
    }
    radio.volume = 3
    radio.station = "One"
    #expect(tracked.values == ["will"])
    #expect(log.lines == ["3"])
  }

  @Test("withObservationTracking works on an object that nobody observes")
  func trackingUnobserved() {
    let radio = Radio()
    let player = Player()
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
    radio.volume += 1
    player.level += 1
    #expect(tracked.values == ["radio", "player"])
  }

  @Test("Tracking of two objects of one class is kept apart, wrapper")
  func trackingTwoObjects() {
    let one = Radio()
    let two = Radio()
    let tracked = Recorder<String>()
    withObservationTracking {
      _ = one.volume
    } onChange: {
      tracked.record("one")
    }
    two.volume = 3
    #expect(tracked.values.isEmpty)
    one.volume = 3
    #expect(tracked.values == ["one"])
  }

  @Test("Tracking that starts while an evaluation runs is not disturbed")
  func trackingInsideObserver() {
    let radio = Radio()
    let tracked = Recorder<String>()
    log.kvo.observe(radio, \.display, options: .initial) { _, radio, _ in
      withObservationTracking {
        _ = radio.volume
      } onChange: {
        tracked.record("will")
      }
    }
    radio.volume = 3
    #expect(tracked.count == 1)
  }
}

struct TestFailure: Error, Equatable {}
