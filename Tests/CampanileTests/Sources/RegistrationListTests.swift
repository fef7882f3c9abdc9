import Testing

@testable import Campanile

@Suite("K15: the live registrations", .eachKindOfSubject, .ownThread)
struct RegistrationListTests {
  private let center = MessageCenter(label: "test")
  private let queue = TestQueue()

  @Test("K15 they are listed with type, owner type, subject, delivery, file and line, oldest first")
  func listed() {
    let (player, screen, statistics) = (Player(), Screen(), Statistics())
    let levels = center.messages(of: LevelChanged.self, about: player)
    let first: UInt = #line + 1
    let one = center.observe(Tick.self) { _ in }
    let two = levels.observe(owner: screen) { _, _ in }
    let three = center.observe(Tick.self, on: queue.delivery.ordered) { _ in }
    let four = center.anyMessage.observe(owner: screen, on: .main) { _, _ in }
    let five = center.observe(Tick.self, on: statistics) { _, _ in }
    let list = center.registrations
    #expect(list.map(\.line) == (0..<5).map { Int(first) + $0 })
    #expect(list.allSatisfy { $0.file == #fileID })
    #expect(list.map { "\($0.valueType)" } == ["Tick", "LevelChanged", "Tick", "Message", "Tick"])
    #expect(
      list.map { $0.ownerType.map { "\($0)" } } == [nil, "Screen", nil, "Screen", "Statistics"])
    #expect(list.map(\.subject) == [nil, ObjectIdentifier(player), nil, nil, nil])
    #expect(
      list.prefix(4).map(\.delivery)
        == [".immediate", ".immediate", ".queue(test), ordered", ".main"])
    #expect(list.last?.delivery.hasPrefix("actor Statistics") == true)
    #expect(
      list.map(\.registration) == [one.registration, two, three.registration, four, five])
    #expect(list.allSatisfy { !$0.isPaused })
    withExtendedLifetime((one, three, screen, statistics)) {}
  }

  @Test("K15 a listed registration can be paused and ended")
  func handles() {
    let token = center.observe(Tick.self) { _ in }
    token.pause()
    #expect(center.registrations.first?.isPaused == true)
    center.registrations.first?.registration.cancel()
    #expect(!token.isActive)
    #expect(center.registrations.isEmpty)
  }

  @Test("K15 counts are exact, on every delivery", arguments: [1, 2, 8])
  func counts(width: Int) {
    let kept = Recorder<ObservationToken>()
    onThreads(width) { [center, queue] _ in
      for number in 0..<50 {
        let tokens = [
          center.observe(Tick.self) { _ in },
          center.observe(Tick.self, on: queue.delivery) { _ in },
          center.observe(Tock.self, on: queue.delivery.buffered(.newest(1))) { _ in },
          center.anyMessage.observe { _ in },
        ]
        if number % 2 == 0 { tokens.forEach { kept.record($0) } }
      }
    }
    #expect(center.observerCount == width * 25 * 4)
    kept.values.forEach { $0.cancel() }
    #expect(center.observerCount == 0)
  }

  @Test("K15 every count and every handle says of a dead owner's registration that it has ended")
  func deadOwnerEverywhere() {
    let (ticks, state, members, bag) = (
      Broadcaster<Int>(), CurrentValue(0), Multicast<Screen>(), TokenBag()
    )
    func observe() -> [Registration] {
      let screen = Screen()
      defer { withExtendedLifetime(screen) {} }
      return [
        center.observe(Tick.self, owner: screen) { _, _ in },
        center.observe(Tick.self, owner: screen, on: queue.delivery) { _, _ in },
        ticks.observe(owner: screen) { _, _ in }, state.observe(owner: screen) { _, _ in },
        members.add(screen),
      ]
    }
    let registrations = observe()
    for registration in registrations { registration.store(in: bag) }
    #expect(registrations.map(\.isActive) == Array(repeating: false, count: 5))
    #expect(bag.count == 0)
    #expect(center.observerCount + ticks.observerCount + state.observerCount == 0)
    #expect(members.count == 0)
  }

  @Test("K12 K15 the list says what waits for each observer with a buffer, and what it lost")
  func waiting() async throws {
    let gate = AsyncGate()
    let tokens = [
      center.observe(Tick.self, on: queue.delivery.buffered(.newest(2))) { _ in },
      center.messages(of: Tick.self).observeAsync(buffering: .oldest(3)) { _ in await gate.pass() },
      center.messages(of: Tick.self).observeAsync { _ in await gate.pass() },
      center.observe(Tick.self, on: queue.delivery) { _ in },
      center.observe(Tick.self) { _ in },
    ]
    queue.hold()
    center.post(Tick(number: 0))
    try await gate.reached(by: 2, within: patience)
    for number in 1...6 { center.post(Tick(number: number)) }
    let listed = center.registrations
    #expect(listed.map(\.waitingCount) == [2, 3, 6, 0, 0])
    #expect(listed.map(\.droppedCount) == [5, 3, 0, 0, 0])
    #expect(listed.map(\.registration.waitingCount) == [2, 3, 6, 0, 0])
    gate.open()
    queue.letGo()
    try await center.postAndWait(Tick(number: 7))
    // The last message found no room in a buffer, and what waits there is not waited for.
    await eventually { center.registrations.allSatisfy { $0.waitingCount == 0 } }
    withExtendedLifetime(tokens) {}
  }

  @Test("K15 a description names the center and a line for each registration")
  func description() {
    let player = Player()
    let screen = Screen()
    let registration = center.messages(of: LevelChanged.self, about: player).observe(
      owner: screen, file: "Some/File.swift", line: 42
    ) { _, _ in }
    registration.pause()
    #expect(
      center.description == """
        MessageCenter test
          LevelChanged, about one subject, owner Screen, on .immediate, paused (Some/File.swift:42)
        """)
    #expect(MessageCenter().description == "MessageCenter")
    let ticks = Broadcaster<Int>()
    #expect(ticks.description == "Broadcaster of Int")
    #expect(CurrentValue(1).description == "CurrentValue 1")
    withExtendedLifetime(screen) {}
  }

  @Test(
    "K15 a description of many registrations has a line for those that are alike, and few lines")
  func longDescription() {
    let screen = Screen()
    func observe(_ numbers: Range<UInt>) {
      for line in numbers {
        center.observe(Tick.self, owner: screen, file: "Some/File.swift", line: line) { _, _ in }
      }
    }
    observe(1..<151)
    #expect(center.description.split(separator: "\n").count == 151)
    for _ in 0..<3 { observe(1001..<1101) }
    observe(1100..<1101)
    let lines = center.description.split(separator: "\n")
    let text = "Tick, owner Screen, on .immediate (Some/File.swift:"
    #expect(lines.count == 152)
    #expect(lines[1...2] == ["  4 times \(text)1100)", "  3 times \(text)1001)"])
    #expect(lines[100...101] == ["  3 times \(text)1099)", "  \(text)1)"])
    #expect(lines[151] == "  and 100 others")
    withExtendedLifetime(screen) {}
  }

  @Test("K15 a dump and a failed expectation show the description of a source, and nothing in it")
  func dumps() {
    let (ticks, state) = (Broadcaster<Int>(), CurrentValue(0))
    let tokens = [
      center.observe(Tick.self) { _ in }, ticks.observe { _ in }, state.observe { _ in },
    ]
    for source in [center, ticks, state] as [any CustomStringConvertible] {
      var text = ""
      dump(source, to: &text)
      // The dump ends with the number of the object.
      #expect(text == "- \(source) #0\n")
      #expect(Mirror(reflecting: source).children.isEmpty)
    }
    withExtendedLifetime(tokens) {}
  }
}
