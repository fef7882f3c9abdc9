import Campanile
import CampanileKVO
import Observation
import TestSupport
import Testing

@Suite("The two front ends", .ownThread)
struct FrontEndTests {
  let log = Log()

  @Test("An overridden property tells the changes of what it overrides")
  func overridden() {
    final class Loud: Radio {
      override var volume: Int {
        get { super.volume + 10 }
        set { super.volume = newValue }
      }
    }
    let radio = Loud()
    log.follow(radio as Radio, \.volume, .old)
    radio.volume = 3
    #expect(log.lines == ["10 -> 13"])
  }

  @Test("F4 A change in place, by inout or by Swift key path is told once, with the value before")
  func inPlace() {
    func fill(_ presets: inout [String]) {
      presets.append("b")
      presets.append("c")
    }
    let (player, radio) = (Player(), Radio())
    log.follow(player, \.tracks, .old)
    log.follow(radio, \.presets, .old)
    log.follow(radio, \.volume)
    player.tracks.append("a")
    radio.presets.append("a")
    radio.presets[0] += "!"
    fill(&radio.presets)
    let keyPath = \Radio.volume
    radio[keyPath: keyPath] = 4
    radio[keyPath: keyPath] += 1
    #expect(
      log.lines == [
        "[] -> [\"a\"]", "[] -> [\"a\"]", "[\"a\"] -> [\"a!\"]",
        "[\"a!\"] -> [\"a!\", \"b\", \"c\"]", "4", "5",
      ])
  }

  @Test("A change in place that throws is told")
  func inPlaceThrowing() {
    func fail(_ volume: inout Int) throws {
      volume = 3
      throw TestFailure()
    }
    let radio = Radio()
    log.follow(radio, \.volume)
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

  @Test("Setting an equal value is a change for the wrapper, and spared by the macro")
  func equalValues() {
    let radio = Radio()
    let player = Player()
    log.follow(radio, \.volume)
    log.follow(player, \.level)
    radio.volume = 0
    player.level = 0
    #expect(log.lines == ["0"])
  }
}

struct TestFailure: Error, Equatable {}
