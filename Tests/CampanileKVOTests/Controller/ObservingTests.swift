import Campanile
import CampanileKVO
import Observation
import Testing

@Suite("Observing a key path", .ownThread)
struct ObservingTests {
  let log = Log()

  @Test("A change reaches the observer before the setter returns, with the owner and the object")
  func tellsAChange() {
    let player = Player()
    log.kvo.observe(player, \.title) { log, player, change in
      log.lines.append("\(player.title) \(change.new) \(change.phase) \(change.edit)")
    }
    player.title = "Aria"
    #expect(log.lines == ["Aria Aria changed setting"])
    player.title = "Bourree"
    #expect(log.lines.count == 2)
  }

  @Test("The wrapper tells changes like the macro")
  func wrapperTellsAChange() {
    let radio = Radio()
    log.kvo.observe(radio, \.station) { log, _, change in log.lines.append(change.new) }
    radio.station = "One"
    radio.station.append("!")
    #expect(log.lines == ["One", "One!"])
  }

  @Test("A Sendable object is observed from any thread")
  func sendable() {
    let counter = Counter()
    defer { withExtendedLifetime(counter) {} }
    let owner = SharedLog()
    let kvo = KVOController(owner: owner)
    defer { withExtendedLifetime(kvo) {} }
    kvo.observe(counter, \.count) { owner, _, change in owner.lines.record("\(change.new)") }
    counter.count = 3
    counter.increment()
    #expect(owner.lines.values == ["3", "4"])
  }
}
