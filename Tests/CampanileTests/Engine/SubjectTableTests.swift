import TestSupport
import Testing

@testable import Campanile

/// What a subject is found by.
private func key(_ subject: AnyObject) -> UInt { SubjectName(subject).word }

extension Entries.Owner {
  fileprivate var table: AddressTable { AddressTable(at: entries.address)! }
}

@Suite("Lists by subject", .eachKindOfSubject, .ownThread)
struct SubjectTableTests {
  private func makeTable(_ capacity: Int = 64) -> Entries.Owner {
    AddressTable(for: capacity * 9 / 16).entries.owner
  }

  /// The number that was put in for a subject.
  private func find(_ subject: AnyObject, in table: AddressTable) -> UInt? {
    table.object(of: key(subject))
  }

  private func insert(_ subject: AnyObject, _ number: UInt, into table: AddressTable) {
    underLock { table.insert(key(subject), number, $0) }
  }

  private func remove(_ subject: AnyObject, from table: AddressTable) {
    underLock { table.remove(at: table.index(of: key(subject))!, $0) }
  }

  @Test("K9 Places that were left are filled again, and what stands behind them is still found")
  func refill() {
    var memory = makeTable()
    let players = (0..<400).map { _ in Player() }
    for (index, player) in players.enumerated() {
      if !memory.table.hasRoom {
        let next = makeTable()
        underLock { memory.table.move(to: next.table, $0) }
        memory = next
      }
      let table = memory.table
      insert(player, UInt(index + 1), into: table)
      guard index >= 30 else { continue }
      // The oldest of thirty goes, but for one in forty.
      let old = index - 30
      if old.isMultiple(of: 40) { continue }
      remove(players[old], from: table)
      #expect(find(players[old], in: table) == nil)
      for live in (old + 1)...index {
        #expect(find(players[live], in: table) == UInt(live + 1))
      }
    }
    #expect(memory.table.objects.count == 30 + 10)
  }
}

@Suite("An index whose subjects come and go", .ownThread)
struct SubjectIndexMemoryTests {
  @Test(
    "K16 The table gives its memory back when most subjects have left, alone or with a list",
    arguments: [1, 2])
  func shrink(observersOfEach: Int) {
    let registry = ObserverRegistry()
    let topic = TopicList(registry: registry, valueType: LevelChanged.self)
    let players = (0..<500).map { _ in Player() }
    let registrations = players.flatMap { player in
      (0..<observersOfEach).map { _ in
        registry.add(makeObserver()) { topic.list(about: SubjectName(player), &$0, $1) }!
      }
    }
    let staying = 4 * observersOfEach
    #expect(topic.capacity > 500)
    for registration in registrations.dropFirst(staying) { registration.cancel() }
    #expect(topic.capacity <= 16)
    #expect(Set(topic.listed) == Set(registrations.prefix(staying)))
    for registration in registrations { registration.cancel() }
    #expect(topic.capacity == 0)
  }

  private func makeObserver() -> AnyObserver {
    let traits = ObserverTraits(location: CallSite(file: #fileID, line: #line))
    return AnyObserver.direct(traits) { (_: LevelChanged) in }
  }

  // Subjects of the other kind have no shell.
  @Test(
    "K9 A dead subject's shell goes with the registrations, while their handles are kept",
    .enabled(if: reusesAddresses()), arguments: [1, 2])
  func shell(count: Int) {
    let center = MessageCenter()
    // Somebody else's place keeps the table.
    let other = Player()
    let otherToken = center.messages(of: LevelChanged.self, about: other).observe { _ in }
    /// Whether a new object comes to the address of a subject whose registrations have ended.
    func isGone() -> Bool {
      var player: Player? = Player()
      // One stands in the table, two in a list, which their handles keep.
      let tokens = (0..<count).map { _ in
        center.messages(of: LevelChanged.self, about: player!).observe { _ in }
      }
      let key = ObjectIdentifier(player!)
      player = nil
      var others = (0..<100).map { _ in Player() }
      #expect(!others.contains { ObjectIdentifier($0) == key })
      for token in tokens { token.cancel() }
      others += (0..<100).map { _ in Player() }
      return withExtendedLifetime(tokens) { others.contains { ObjectIdentifier($0) == key } }
    }
    // What is free is other threads' too: one of them may get the place first, now and then.
    #expect((0..<100).contains { _ in isGone() })
    withExtendedLifetime(otherToken) {}
  }
}

/// What a registration that stands alone with its subject can do, and what becomes of it when others
/// join.
@Suite("Alone with a subject", .eachKindOfSubject, .ownThread)
struct SingleObserverTests {
  let center = MessageCenter()
  let player = Player()
  let heard = Recorder<String>()

  private func observe(_ name: String) -> ObservationToken {
    center.messages(of: LevelChanged.self, about: player).observe { [heard] _ in heard.record(name)
    }
  }

  private func post() { center.post(LevelChanged(level: 1), about: player) }

  @Test("K3 The first is ended, paused and resumed by its own handle after others joined")
  func handle() {
    let first = observe("first")
    let early = first.registration
    let second = observe("second")
    first.pause()
    #expect(early.isPaused)
    post()
    #expect(heard.values == ["second"])
    early.resume()
    post()
    #expect(heard.values == ["second", "first", "second"])
    #expect(early.cancel() == .ended)
    #expect(first.cancel() == .alreadyEnded)
    #expect(!first.isActive)
    #expect(second.isActive)
    post()
    #expect(heard.values.suffix(2) == ["second", "second"])
    withExtendedLifetime(second) {}
  }

  @Test(
    "K16 What it captured is released when it ends, when its subject's others end, with the center")
  func released() {
    let life = LiveCount()
    func observe(_ center: MessageCenter) -> ObservationToken {
      let tracked = Tracked(life)
      return center.messages(of: LevelChanged.self, about: player).observe { _ in tracked.touch() }
    }
    observe(center).cancel()
    #expect(life.current == 0)
    var tokens = [observe(center), observe(center)]
    tokens.removeFirst()
    #expect(life.current == 1)
    tokens = []
    #expect(life.current == 0)
    var short: MessageCenter? = MessageCenter()
    let token = observe(short!)
    #expect(life.current == 1)
    short = nil
    #expect(life.current == 0)
    #expect(!token.isActive)
  }
}
