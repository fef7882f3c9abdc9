import Campanile
import Observation
import Synchronization
import TestSupport
import Testing

@testable import CampanileKVO

@Suite("What a controller keeps of its observations", .ownThread)
struct ObservationTableTests {
  /// Has no property of its own that can be observed, so that nobody notices its death.
  final class Desk: Observable {
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
    #expect(log.kvo.observe(player, \.level) { _, _, _ in }.outcome == .added)
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

  @Test("K16 Entries of what has ended are forgotten while others are made")
  func forgotten() {
    log.kvo.observe(player, \.level) { _, _, _ in }
    for _ in 0..<2_000 {
      log.kvo.observe(Desk(player), \.player.title) { _, _, _ in }
      log.kvo.observe(player, \.title, options: [.initial, .once]) { _, _, _ in }
    }
    let entries = log.kvo.observations.withLock { $0.all }
    #expect(entries.count < 100)
    #expect(entries.first.map { $0.path == \Player.level } == true)
    #expect(log.kvo.observationCount == 1)
  }

  @Test("K16 What an observer of a dead object keeps is released with its entry")
  func forgottenObservers() {
    let count = LiveCount()
    for _ in 0..<200 {
      let mark = Tracked(count)
      log.kvo.observe(Desk(player), \.player.title) { _, _, _ in mark.touch() }
    }
    #expect(count.current < 100)
  }

  /// An argument whose hash tells nothing.
  struct Cell: Hashable, Sendable {
    let number: Int
    func hash(into hasher: inout Hasher) {}
  }

  /// An argument like most.
  struct Plain: Hashable, Sendable {
    let number: Int
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

    subscript(cell: Plain) -> Int {
      registrar.access(self, keyPath: \.[cell])
      return cells[cell.number] ?? 0
    }
  }

  @Test("Key paths of one hash are told apart, under each policy and when they are unobserved")
  func sameHash() {
    let (sheet, kvo) = (Sheet(), log.kvo)
    func observe(_ number: Int, _ policy: KVOController<Log>.Policy) -> KVOResult {
      kvo.observe(sheet, \.[Cell(number: number)], policy: policy) { log, _, change in
        log.lines.append("\(number): \(change.new)")
      }
    }
    let first = (0..<4).map { observe($0, .ignore) }
    #expect(first.allSatisfy { $0.outcome == .added })
    #expect(observe(1, .ignore).registration == first[1].registration)
    #expect(observe(2, .replace).outcome == .added)
    #expect(observe(3, .append).outcome == .added)
    #expect(first.map(\.registration.isActive) == [true, true, false, true])
    for number in 0..<5 { sheet[Cell(number: number)] = 7 }
    #expect(log.lines == ["0: 7", "1: 7", "2: 7", "3: 7", "3: 7"])
    kvo.unobserve(sheet, \.[Cell(number: 3)])
    #expect(first.map(\.registration.isActive) == [true, true, false, false])
    #expect(!kvo.isObserving(sheet, \.[Cell(number: 3)]))
    #expect(kvo.isObserving(sheet, \.[Cell(number: 2)]))
    #expect(kvo.observationCount == 3)
  }

  private func entry(_ object: AnyObject, _ path: KVOPath) -> ObservationTable.Entry {
    .init(
      object: OwnerReference(object), ObjectIdentifier(object), path,
      SourceRegistry.endedRegistration,
      .init(objectType: type(of: object), wishes: [], file: #fileID, line: #line))
  }

  @discardableResult
  private func add(
    _ object: AnyObject, _ path: KVOPath, to table: inout ObservationTable
  ) -> ObservationTable.Entry {
    let entry = entry(object, path)
    let isAdded = table.add(entry, after: table.additions)
    #expect(isAdded)
    return entry
  }

  @Test("K16 All entries are looked at so seldom that an addition costs the same in a large table")
  func costOfAdditions() {
    var table = ObservationTable()
    let (players, path) = ((0..<5_000).map { _ in Player() }, KVOPath(\Player.level))
    var looked = 0
    for player in players {
      add(player, path, to: &table)
      looked += table.suspects().count
    }
    #expect(table.all.count == 5_000 && table.count == 5_000)
    #expect(looked >= 2_500 && looked <= 10_000)
    // As many come and go: what has gone does not count.
    looked = 0
    table.forget(table.all)
    for player in players {
      add(player, path, to: &table)
      let suspects = table.suspects()
      looked += suspects.count
      if !suspects.isEmpty { table.forget(suspects) }
    }
    #expect(looked <= 5_000)
    #expect(table.all.count <= 32)
    withExtendedLifetime(players) {}
  }

  @Test("K16 What was taken out while it was looked at is not counted as forgotten too")
  func forgottenTwice() {
    var table = ObservationTable()
    let (players, path) = ((0..<32).map { _ in Player() }, KVOPath(\Player.level))
    func fill() {
      for player in players { add(player, path, to: &table) }
    }
    fill()
    let ended = table.suspects()
    #expect(ended.count == 32)
    // Another thread takes them out before they are forgotten.
    for player in players { _ = table.remove(ObjectIdentifier(player)) }
    table.forget(ended)
    #expect(table.count == 0)
    fill()
    #expect(table.suspects().count == 32)
  }

  @Test("Entries are taken out one by one, by their object, or all, and counted right")
  func takingOut() {
    var table = ObservationTable()
    let (one, two) = (Player(), Player())
    let (level, title) = (KVOPath(\Player.level), KVOPath(\Player.title))
    let (late, known) = (entry(one, level), table.additions)
    let first = add(one, level, to: &table)
    let second = add(one, level, to: &table)
    let third = add(one, title, to: &table)
    let fourth = add(two, level, to: &table)
    // The table was looked at before others came there.
    let isAdded = [table.add(late, after: known), table.add(late, after: nil)]
    #expect(isAdded == [false, true] && table.count == 5)
    #expect(table.all.map(\.path) == [level, level, title, level, level])
    table.remove([first, first, late])
    #expect(table.entries(of: ObjectIdentifier(one)).map(\.path) == [level, title])
    table.remove([third])
    let removed = [table.remove(ObjectIdentifier(one)), table.remove(ObjectIdentifier(one))]
    #expect(removed.map(\.count) == [1, 0] && removed[0][0] === second && table.count == 1)
    table.forget([second, fourth])
    #expect(table.all.isEmpty && table.count == 0)
    add(two, title, to: &table)
    let all = [table.removeAll(), table.removeAll()]
    #expect(all.map { $0.map(\.path) } == [[title], []])
  }

  @Test("Each of many key paths of one object is found, under each policy, and ended alone")
  func manyPaths() {
    let (sheet, kvo) = (Sheet(), log.kvo)
    func observe(_ number: Int, _ policy: KVOController<Log>.Policy = .ignore) -> KVOResult {
      kvo.observe(sheet, \.[Plain(number: number)], policy: policy) { log, _, change in
        log.lines.append("\(number): \(change.new)")
      }
    }
    let first = (0..<100).map { observe($0) }
    #expect(first.allSatisfy { $0.outcome == .added } && kvo.observationCount == 100)
    #expect((0..<100).map { observe($0).registration } == first.map(\.registration))
    #expect(observe(3, .replace).outcome == .added && observe(90, .replace).outcome == .added)
    #expect(!first[3].registration.isActive && !first[90].registration.isActive)
    #expect(observe(90, .append).outcome == .added && kvo.observationCount == 101)
    for number in [3, 90, 50] { kvo.unobserve(sheet, \.[Plain(number: number)]) }
    #expect(kvo.observationCount == 97)
    #expect((0..<100).filter { !kvo.isObserving(sheet, \.[Plain(number: $0)]) } == [3, 50, 90])
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
    // Nothing of them is left, not even as something that has ended.
    #expect(kvo.observations.withLock { $0.all.count } == 0)
    withExtendedLifetime(owner) {}
  }
}
