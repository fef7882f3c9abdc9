import TestSupport
import Testing

@testable import Campanile

/// What a subject is found by.
private func key(_ subject: AnyObject) -> UInt { SubjectName(subject).address.word }

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

  @Test("K9 Subjects are found as long as they stand in the table, also where they share a place")
  func find() {
    let memory = makeTable()
    let table = memory.table
    let players = (0..<48).map { _ in Player() }
    for (index, player) in players.enumerated() {
      #expect(table.hasRoom)
      insert(player, UInt(index + 1), into: table)
    }
    #expect(!table.hasRoom)
    #expect(table.objects.count == 48)
    for (index, player) in players.enumerated() {
      #expect(find(player, in: table) == UInt(index + 1))
    }
    for _ in 0..<200 { #expect(find(Player(), in: table) == nil) }

    for player in players.dropFirst(16) { remove(player, from: table) }
    #expect(table.objects.count == 16)
    for (index, player) in players.enumerated() {
      #expect(find(player, in: table) == (index < 16 ? UInt(index + 1) : nil))
    }
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

  @Test("K9 A table moves everything to the next one")
  func move() {
    let memory = makeTable()
    let players = (0..<40).map { _ in Player() }
    for (index, player) in players.enumerated() {
      insert(player, UInt(index + 1), into: memory.table)
    }
    for player in players.prefix(10) { remove(player, from: memory.table) }
    let next = makeTable(40)
    underLock { memory.table.move(to: next.table, $0) }
    #expect(next.table.objects.count == 30)
    for (index, player) in players.enumerated() {
      #expect(find(player, in: next.table) == (index < 10 ? nil : UInt(index + 1)))
    }
  }

  @Test("K9 A topic finds the list of a subject until its last observer has left")
  func index() {
    let registry = ObserverRegistry()
    let topic = TopicList(registry: registry, valueType: LevelChanged.self)
    let players = (0..<200).map { _ in Player() }
    func observe(_ player: Player) -> Registration {
      let traits = ObserverTraits(location: CallSite(file: #fileID, line: #line))
      let observer = AnyObserver.direct(traits) { (_: LevelChanged) in }
      return registry.add(observer) { topic.destination(about: SubjectName(player), &$0, $1) }!
    }
    func count(_ player: Player) -> Int {
      unsafe topic.find(ObjectIdentifier(player))?.takeUnretainedValue().count ?? 0
    }
    var registrations = players.map(observe)
    registrations += players.prefix(100).map(observe)
    for (index, player) in players.enumerated() { #expect(count(player) == (index < 100 ? 2 : 1)) }
    #expect(count(Player()) == 0)
    #expect(topic.listed.count == 300)
    #expect(Set(topic.listed) == Set(registrations))
    for registration in registrations.prefix(200) { registration.cancel() }
    for (index, player) in players.enumerated() { #expect(count(player) == (index < 100 ? 1 : 0)) }
    #expect(topic.hasSubjects)
    for registration in registrations { registration.cancel() }
    #expect(!topic.hasSubjects)
    #expect(topic.listed.isEmpty)
    #expect(count(players[0]) == 0)
  }
}

@Suite("An index whose subjects come and go", .ownThread)
struct SubjectIndexMemoryTests {
  @Test("K16 A topic that goes with all its registrations releases what they captured")
  func released() {
    let life = LiveCount()
    do {
      let registry = ObserverRegistry()
      let topic = TopicList(registry: registry, valueType: LevelChanged.self)
      let players = [Player(), Player()]
      for player in players + [players[0]] {
        let tracked = Tracked(life)
        let traits = ObserverTraits(location: CallSite(file: #fileID, line: #line))
        let observer = AnyObserver.direct(traits) { (_: LevelChanged) in tracked.touch() }
        #expect(
          registry.add(observer) { topic.destination(about: SubjectName(player), &$0, $1) } != nil)
      }
      #expect(life.current == 3)
      withExtendedLifetime((registry, topic, players)) {}
    }
    #expect(life.current == 0)
  }

  @Test("K16 The table grows with the subjects that are observed, not with those that were")
  func bounded() {
    let registry = ObserverRegistry()
    let topic = TopicList(registry: registry, valueType: LevelChanged.self)
    let players = (0..<2_000).map { _ in Player() }
    var live: [Registration] = []
    var capacity = 0
    for player in players {
      let traits = ObserverTraits(location: CallSite(file: #fileID, line: #line))
      let observer = AnyObserver.direct(traits) { (_: LevelChanged) in }
      live.append(
        registry.add(observer) { topic.destination(about: SubjectName(player), &$0, $1) }!)
      if live.count > 20 { live.removeFirst().cancel() }
      capacity = max(capacity, topic.capacity)
    }
    #expect(capacity <= 64)
    for registration in live { registration.cancel() }
    #expect(topic.capacity == 0)
  }

  @Test(
    "K16 The table gives its memory back when most subjects have left, alone or with a list",
    arguments: [1, 2])
  func shrink(observersOfEach: Int) {
    let registry = ObserverRegistry()
    let topic = TopicList(registry: registry, valueType: LevelChanged.self)
    let players = (0..<500).map { _ in Player() }
    let registrations = players.flatMap { player in
      (0..<observersOfEach).map { _ in
        registry.add(makeObserver()) { topic.destination(about: SubjectName(player), &$0, $1) }!
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

  @Test("K16 A table that is replaced is released where no post is searching it")
  func replaced() {
    let registry = ObserverRegistry()
    let topic = TopicList(registry: registry, valueType: LevelChanged.self)
    let players = (0..<40).map { _ in Player() }
    func observe(_ player: Player) -> Registration {
      registry.add(makeObserver()) { topic.destination(about: SubjectName(player), &$0, $1) }!
    }
    var registrations = [observe(players[0])]
    let first = topic.current?.entries
    #expect(first != nil)
    for player in players.dropFirst() { registrations.append(observe(player)) }
    #expect(topic.current?.entries.address != first?.address)
    #expect(!registry.keeps(first))
    let last = topic.current?.entries
    #expect(last != nil)
    for registration in registrations { registration.cancel() }
    #expect(topic.current == nil)
    #expect(!registry.keeps(last))
  }

  @Test("K16 A table that is replaced is left over, for the posts that may be searching it")
  func leftOver() {
    let registry = ObserverRegistry()
    let topic = TopicList(registry: registry, valueType: LevelChanged.self)
    let players = (0..<40).map { _ in Player() }
    var garbage = Garbage()
    var capacities = [topic.capacity]
    func noteCapacity() {
      if capacities.last != topic.capacity { capacities.append(topic.capacity) }
    }
    for player in players {
      registry.withState { _, held in
        let destination = topic.destination(about: SubjectName(player), &garbage, held)
        unsafe destination.list._withUnsafeGuaranteedRef { list in
          list.makeRoom(&garbage, held)
          unsafe list.append(
            unsafe Unmanaged.passRetained(makeObserver()), id: list.created + 100, held)
        }
      }
      noteCapacity()
    }
    for player in players {
      registry.withState { _, held in
        let list = unsafe topic.destination(about: SubjectName(player), &garbage, held).list
        unsafe list._withUnsafeGuaranteedRef { unsafe $0.take(at: 0, &garbage, held).release() }
      }
      noteCapacity()
    }
    #expect(capacities.count > 5)
    // Nothing was there before the first table.
    let tables = garbage.structures.compactMap { $0.structure as? Entries.Owner }
    #expect(tables.map(\.entries.capacity) == capacities.dropFirst().dropLast())
    for piece in garbage.structures {
      let list = piece.structure as? ObserverList
      let table = piece.structure as? Entries.Owner
      #expect(piece.since == list?.created ?? table?.entries.created)
    }
    // And the lists of the subjects that were forgotten.
    #expect(garbage.structures.count == tables.count + players.count)
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

  @Test("K5 Those who join are called after the first, whatever they observe")
  func order() {
    let first = observe("first")
    let any = center.observe(LevelChanged.self) { [heard] _ in heard.record("any") }
    let all = center.anyMessage.observe { [heard] _ in heard.record("all") }
    post()
    #expect(heard.values == ["first", "any", "all"])
    let second = observe("second")
    post()
    #expect(heard.values.suffix(4) == ["first", "any", "all", "second"])
    first.cancel()
    post()
    #expect(heard.values.suffix(3) == ["any", "all", "second"])
    let third = observe("third")
    second.cancel()
    post()
    #expect(heard.values.suffix(3) == ["any", "all", "third"])
    withExtendedLifetime((any, all, third)) {}
  }

  @Test("K5 One who stands alone is called in its turn among those who hear of every subject")
  func turn() {
    let before = center.observe(LevelChanged.self) { [heard] _ in heard.record("before") }
    let wideBefore = center.anyMessage.observe { [heard] _ in heard.record("wide before") }
    let only = observe("only")
    let after = center.observe(LevelChanged.self) { [heard] _ in heard.record("after") }
    let wideAfter = center.anyMessage.observe { [heard] _ in heard.record("wide after") }
    post()
    #expect(heard.values == ["before", "wide before", "only", "after", "wide after"])
    withExtendedLifetime((before, wideBefore, only, after, wideAfter)) {}
  }

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

  @Test("K3 Alone it is paused, resumed and ended")
  func alone() {
    let token = observe("only")
    #expect(token.isActive)
    token.pause()
    token.pause()
    post()
    token.resume()
    post()
    #expect(heard.count == 0)
    token.resume()
    post()
    #expect(heard.values == ["only"])
    #expect(token.cancelAndWait() == .finished)
    #expect(!token.isActive)
    #expect(token.cancel() == .alreadyEnded)
    post()
    #expect(heard.count == 1)
  }

  @Test("K1 K3 A handle that is left over does not end who came after it")
  func leftOver() {
    let first = observe("first")
    let handle = first.registration
    first.cancel()
    let second = observe("second")
    #expect(handle.cancel() == .alreadyEnded)
    handle.pause()
    #expect(handle != second.registration)
    post()
    #expect(heard.values == ["second"])
    withExtendedLifetime(second) {}
  }

  @Test("K1 A handle of the list and a handle of before are one registration")
  func equality() {
    let first = observe("first")
    let early = first.registration
    let second = observe("second")
    let listed = center.registrations.map(\.registration)
    #expect(listed == [early, second.registration])
    #expect(Set(listed) == [early, second.registration])
    center.removeObserver(listed[0])
    #expect(!early.isActive)
    withExtendedLifetime(first) {}
  }

  @Test("K15 It is listed and counted, with its subject")
  func listed() {
    let token = observe("only")
    #expect(center.observerCount == 1)
    let description = center.registrations[0]
    #expect(description.subject == ObjectIdentifier(player))
    #expect(description.ownerType == nil)
    #expect(description.delivery == ".immediate")
    #expect(description.registration == token.registration)
    token.cancel()
    #expect(center.observerCount == 0)
  }

  @Test("K13 What it throws is reported, and it stays registered")
  func errors() {
    struct Failure: Error {}
    let center = MessageCenter()
    let failures = Recorder(observing: center.failures)
    let player = Player()
    let token = center.messages(of: LevelChanged.self, about: player).observe { _ in throw Failure()
    }
    center.post(LevelChanged(level: 1), about: player)
    center.post(LevelChanged(level: 1), about: player)
    #expect(failures.values.count { $0.valueType == LevelChanged.self && $0.error is Failure } == 2)
    #expect(token.isActive)
  }

  @Test(
    "K7 It may end itself, add others about its subject, and release its token", arguments: widths)
  func reentrancy(width: Int) {
    onThreads(width) { _ in
      let (center, player, life) = (MessageCenter(), Player(), LiveCount())
      let heard = Recorder<String>()
      let bag = TokenBag()
      func observe(_ tracked: Tracked) {
        center.messages(of: LevelChanged.self, about: player).observe { [weak bag] _ in
          tracked.touch()
          heard.record("first")
          guard let bag else { return }
          bag.cancel()
          center.messages(of: LevelChanged.self, about: player).observe { _ in
            heard.record("second")
          }
          .store(in: bag)
        }.store(in: bag)
      }
      observe(Tracked(life))
      center.post(LevelChanged(level: 1), about: player)
      #expect(heard.values == ["first"])
      #expect(life.current == 0)
      center.post(LevelChanged(level: 1), about: player)
      #expect(heard.values == ["first", "second"])
    }
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

  @Test("K9 A dead subject's shell stays when the table is built anew")
  func shellAfterMove() {
    var player: Player? = Player()
    let token = center.messages(of: LevelChanged.self, about: player!).observe { [heard] _ in
      heard.record("dead")
    }
    let key = ObjectIdentifier(player!)
    player = nil
    let others = (0..<100).map { _ in Player() }
    let tokens = others.map { center.messages(of: LevelChanged.self, about: $0).observe { _ in } }
    let later = (0..<200).map { _ in Player() }
    for other in others + later {
      if SubjectKind.current == .native { #expect(ObjectIdentifier(other) != key) }
      center.post(LevelChanged(level: 0), about: other)
    }
    #expect(heard.count == 0)
    withExtendedLifetime((token, tokens)) {}
  }
}
