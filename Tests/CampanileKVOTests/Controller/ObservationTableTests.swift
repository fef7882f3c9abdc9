import Campanile
import CampanileKVO
import Observation
import Synchronization
import Testing

@Suite("What a controller keeps of its observations", .ownThread)
struct ObservationTableTests {
  /// Has no property of its own that can be observed, so that nobody notices its death.
  final class Desk: Observable {
    let player: Player
    init(_ player: Player) { self.player = player }
  }

  let log = Log()
  let player = Player()

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
    for policy in [KVOController<Log>.Policy.ignore, .replace, .append] {
      var desks = [Desk(player)]
      let first = log.kvo.observe(desks[0], \.player.title) { _, _, _ in }
      let address = ObjectIdentifier(desks.removeLast())
      // The allocator gives the place away again, mostly at once.
      repeat {
        desks.append(Desk(player))
      } while ObjectIdentifier(desks.last!) != address
        && desks.count < 10_000
      let desk = desks.last!
      #expect(!log.kvo.isObserving(desk, \.player.title))
      let second = log.kvo.observe(desk, \.player.title, policy: policy) { _, _, _ in }
      #expect(second.outcome == .added)
      #expect(second.registration != first.registration && second.registration.isActive)
      #expect(log.kvo.observationCount == 1)
      let third = log.kvo.observe(desk, \.player.title) { _, _, _ in }
      #expect(third.outcome == .alreadyObserved)
      #expect(third.registration == second.registration)
    }
  }

  @Test("K16 What an observer of a dead object keeps is released with its entry")
  func forgottenObservers() {
    let count = LiveCount()
    for _ in 0..<200 {
      let mark = Tracked(count)
      log.kvo.observe(Desk(player), \.player.title) { _, _, _ in mark.touch() }
      log.kvo.observe(player, \.title, options: [.initial, .once]) { _, _, _ in mark.touch() }
    }
    #expect(count.current < 100)
    #expect(log.kvo.observationCount == 0)
  }

  /// An argument whose hash tells nothing, if it is to be so.
  struct Cell: Hashable, Sendable {
    let number: Int
    let hasHash: Bool
    func hash(into hasher: inout Hasher) { if hasHash { hasher.combine(number) } }
  }

  final class Sheet: Observable {
    private let registrar = KVORegistrar()
    private var cells: [Int: Int] = [:]
    subscript(cell: Cell) -> Int {
      get {
        registrar.access(self, keyPath: \.[cell])
        return cells[cell.number] ?? 0
      }
      set { registrar.withMutation(of: self, keyPath: \.[cell]) { cells[cell.number] = newValue } }
    }
  }

  @Test(
    "Each of many key paths of one object is found, under each policy, and ended alone, also if all have one hash",
    arguments: [true, false])
  func manyPaths(hasHash: Bool) {
    let (sheet, kvo) = (Sheet(), log.kvo)
    func observe(_ number: Int, _ policy: KVOController<Log>.Policy = .ignore) -> KVOResult {
      kvo.observe(sheet, \.[Cell(number: number, hasHash: hasHash)], policy: policy) {
        log, _, change in log.lines.append("\(number): \(change.new)")
      }
    }
    let first = (0..<100).map { observe($0) }
    #expect(first.allSatisfy { $0.outcome == .added } && kvo.observationCount == 100)
    #expect((0..<100).map { observe($0).registration } == first.map(\.registration))
    #expect(observe(3, .replace).outcome == .added && observe(90, .replace).outcome == .added)
    #expect(!first[3].registration.isActive && !first[90].registration.isActive)
    #expect(observe(90, .append).outcome == .added && kvo.observationCount == 101)
    for number in [2, 90, 100] { sheet[Cell(number: number, hasHash: hasHash)] = 7 }
    #expect(log.lines == ["2: 7", "90: 7", "90: 7"])
    for number in [3, 90, 50] {
      kvo.unobserve(sheet, \.[Cell(number: number, hasHash: hasHash)])
    }
    #expect(kvo.observationCount == 97)
    let ended = (0..<100).filter {
      !kvo.isObserving(sheet, \.[Cell(number: $0, hasHash: hasHash)])
    }
    #expect(ended == [3, 50, 90])
    kvo.unobserve(sheet)
    #expect(kvo.observationCount == 0 && observe(70).outcome == .added)
    kvo.unobserveAll()
    #expect(observe(70).outcome == .added && kvo.observationCount == 1)
  }

  @Test("K7 An object that dies while its controller is looked at may use it", arguments: [2, 8])
  func dyingMeanwhile(width: Int) {
    final class Guest: SharedObservable {
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
    let rounds = Effort.times(3, long: 10)
    onThreads(width) { index in
      if index == 0 {
        // As long as anybody comes and goes, and some times more.
        var looks = 0
        while coming.current > 0 || looks < 200 {
          _ = kvo.observationCount
          looks += 1
        }
      } else {
        let mark = Tracked(coming)
        for _ in 0..<rounds {
          // Many that die one after the other, while all of them are being looked at.
          var guests = (0..<50).map { _ in Guest(kvo, deaths) }
          for guest in guests {
            kvo.observe(guest, \.count) { _, _, _ in }
            if !kvo.isObserving(guest, \.count) { deaths.value.wrappingAdd(1, ordering: .relaxed) }
          }
          while !guests.isEmpty { guests.removeLast() }
        }
        withExtendedLifetime(mark) {}
      }
    }
    // Each was observed, and each died once.
    #expect(deaths.current == (width - 1) * 50 * rounds)
    #expect(kvo.observationCount == 0)
    withExtendedLifetime(owner) {}
  }
}
