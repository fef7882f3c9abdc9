import Campanile
import Observation
import Synchronization
import Testing

@testable import CampanileKVO

@Suite("What a controller keeps of its observations")
struct ObservationTableTests {
  /// Cannot be observed itself, so that nobody notices its death.
  final class Desk {
    let player: Player
    init(_ player: Player) { self.player = player }
  }

  let log = Log()
  let player = Player()

  @Test("An observation that ended by itself is not counted, and does not stand in the way")
  func endedByItself() {
    log.kvo.observe(player, \.level, options: .once) { log, _, _ in log.lines.append("once") }
    #expect(log.kvo.observationCount == 1)
    player.level = 1
    #expect(log.kvo.observationCount == 0)
    #expect(!log.kvo.isObserving(player, \.level))
    #expect(log.kvo.observe(player, \.level) { _, _, _ in } == .added)
  }

  @Test("A dead object is not counted, also if it cannot tell of its death")
  func deadPlainObject() {
    var desk: Desk? = Desk(player)
    log.kvo.observe(desk!, \.player.title) { _, _, _ in }
    #expect(log.kvo.observationCount == 1)
    desk = nil
    #expect(log.kvo.observationCount == 0)
    #expect(log.kvo.description == "KVOController of Log")
  }

  @Test("K9 An object at the address of a dead one is observed anew, under each policy")
  func reusedAddress() {
    for policy in [KVOPolicy.ignore, .replace, .append] {
      var desks = [Desk(player)]
      log.kvo.observe(desks[0], \.player.title) { _, _, _ in }
      let address = ObjectIdentifier(desks.removeLast())
      // The allocator gives the place away again, mostly at once.
      repeat {
        desks.append(Desk(player))
      } while ObjectIdentifier(desks.last!) != address
        && desks.count < 10_000
      let desk = desks.last!
      #expect(!log.kvo.isObserving(desk, \.player.title))
      #expect(log.kvo.observe(desk, \.player.title, policy: policy) { _, _, _ in } == .added)
      #expect(log.kvo.registrations(of: desk, \.player.title).count == 1)
    }
  }

  @Test("K16 Entries of what has ended are forgotten while others are made")
  func forgotten() {
    log.kvo.observe(player, \.level) { _, _, _ in }
    for _ in 0..<2_000 {
      log.kvo.observe(Desk(player), \.player.title) { _, _, _ in }
      log.kvo.observe(player, \.title, options: [.initial, .once]) { _, _, _ in }
    }
    let entries = log.kvo.observations.withLock { $0.all.map(\.number) }
    #expect(entries.count < 100)
    #expect(entries.contains(0))
    #expect(log.kvo.observationCount == 1)
  }

  @Test("K7 An object that dies while its controller is looked at may use it", arguments: [2, 8])
  func dyingMeanwhile(width: Int) {
    final class Guest: Sendable, Observable {
      let counter = Counter()
      var count: Int { counter.count }
      let kvo: KVOController<SharedLog>
      let deaths: LiveCount
      init(_ kvo: KVOController<SharedLog>, _ deaths: LiveCount) {
        self.kvo = kvo
        self.deaths = deaths
      }
      deinit {
        deaths.value.wrappingAdd(1, ordering: .relaxed)
        kvo.unobserve(self)
        _ = kvo.observationCount
      }
    }
    let owner = SharedLog()
    let kvo = KVOController(owner: owner)
    let coming = LiveCount()
    let deaths = LiveCount()
    onThreads(width) { index in
      if index == 0 {
        // As long as anybody comes and goes, and some times more.
        var rounds = 0
        while coming.current > 0 || rounds < 200 {
          _ = kvo.observationCount
          rounds += 1
        }
      } else {
        let mark = Tracked(coming)
        for _ in 0..<10 {
          // Many that die one after the other, while all of them are being looked at.
          var guests = (0..<50).map { _ in Guest(kvo, deaths) }
          for guest in guests {
            kvo.observe(guest, \.count, on: .immediate) { _, _, _ in }
            if !kvo.isObserving(guest, \.count) { deaths.value.wrappingAdd(1, ordering: .relaxed) }
          }
          while !guests.isEmpty { guests.removeLast() }
        }
        withExtendedLifetime(mark) {}
      }
    }
    // Each was observed, and each died once.
    #expect(deaths.current == (width - 1) * 500)
    #expect(kvo.observationCount == 0)
    // Nothing of them is left, not even as something that has ended.
    #expect(kvo.observations.withLock { $0.all.count } == 0)
    withExtendedLifetime(owner) {}
  }
}
