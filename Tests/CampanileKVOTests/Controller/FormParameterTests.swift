import Campanile
import CampanileKVO
import Observation
import Testing

/// Each form of observing hands on, in its own lines, what it is given.
@Suite("Every form honors the buffer, the delivery, the policy and the options that it is given")
struct FormParameterTests {
  final class Store: Sendable, KVOChangeHandler {
    let lines = Recorder<String>()
    func hear<Value>(_ change: KVOChange<Value>) {
      lines.record("\(change.old.map { "\($0)" } ?? "none"), \(change.new)")
    }
    func countChanged(_ counter: Counter, _ change: KVOChange<Int>) { hear(change) }
    func sceneChanged(_ stage: Stage, _ change: KVOChange<String>) { hear(change) }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { hear(change) }
  }

  @MainActor final class Screen {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func hear<Value>(_ change: KVOChange<Value>) {
      lines.append("\(change.old.map { "\($0)" } ?? "none"), \(change.new)")
    }
    func countChanged(_ counter: Counter, _ change: KVOChange<Int>) { hear(change) }
    func sceneChanged(_ stage: Stage, _ change: KVOChange<String>) { hear(change) }
    func anyChanged(_ stage: Stage, _ change: KVOChange<Any>) { hear(change) }
  }

  /// After two changes of each: one was dropped, and the other one waits.
  private func expectOneWaits(
    _ registrations: [Registration], _ count: Int, _ description: String, on delivery: String,
    after line: Int
  ) {
    #expect(registrations.count == count)
    #expect(registrations.map(\.droppedCount) == registrations.map { _ in 1 })
    let lines = description.split(separator: "\n").dropFirst()
    #expect(lines.count == count)
    let part = "[old, once] on \(delivery) (CampanileKVOTests/FormParameterTests.swift:"
    #expect(lines.allSatisfy { $0.contains(part) })
    expectNumbers(lines, after: line)
  }

  /// The lines where the observations were made.
  private func expectNumbers(_ lines: ArraySlice<Substring>, after line: Int) {
    let numbers = lines.compactMap { Int($0.split(separator: ":").last?.dropLast() ?? "") }
    #expect(numbers.count == lines.count && numbers.allSatisfy { $0 > line })
  }

  private func expectFirstWasHeard(_ lines: [String], _ count: Int) {
    #expect(lines.count == count)
    #expect(lines.allSatisfy { ["0, 1", "0, 2", ", 1"].contains($0) })
  }

  @Test("K11 K12 What any thread changes is told at a place")
  func atPlace() {
    let (store, counter, manual, line) = (Store(), Counter(), ManualTarget(), #line)
    let kvo = KVOController(owner: store)
    let place = manual.delivery.ordered
    kvo.observe(
      counter, \.count, options: [.old, .once], policy: .append, on: place, buffering: .oldest(1)
    ) { store, _, change in store.hear(change) }
    kvo.observe(
      counter, [\.count, \.double], options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1)
    ) { store, _, change in store.hear(change) }
    kvo.observe(
      counter, \.count, \.double, options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1)
    ) { store, _, change in store.hear(change) }
    kvo.observe(
      counter, \.count, options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1), calling: Store.countChanged)
    kvo.observe(
      counter, [\.count, \.double], options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1), calling: Store.countChanged)
    kvo.observe(
      counter, \.count, options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1))
    kvo.observe(
      counter, \.count, \.double, options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1))
    let registrations =
      kvo.registrations(of: counter, \.count) + kvo.registrations(of: counter, \.double)
    for _ in 1...2 { counter.increment() }
    expectOneWaits(registrations, 11, kvo.description, on: "ManualDelivery.ordered", after: line)
    manual.runAll()
    expectFirstWasHeard(store.lines.values, 11)
    #expect(kvo.observationCount == 0)
    withExtendedLifetime(counter) {}
  }

  @Test("K11 K12 What the main actor changes is told at a place")
  @MainActor func mainPathsAtPlace() {
    let (store, stage, manual, line) = (Store(), Stage(), ManualTarget(), #line)
    let kvo = KVOController(owner: store)
    let place = manual.delivery.ordered
    kvo.observe(
      stage, \.scene, options: [.old, .once], policy: .append, on: place, buffering: .oldest(1)
    ) { store, _, change in store.hear(change) }
    kvo.observe(
      stage, [\.scene, \.scene], options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1)
    ) { store, _, change in store.hear(change) }
    kvo.observe(
      stage, \.scene, \.light, options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1)
    ) { store, _, change in store.hear(change) }
    kvo.observe(
      stage, \.scene, options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1), calling: Store.sceneChanged)
    kvo.observe(
      stage, [\.scene, \.scene], options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1), calling: Store.sceneChanged)
    kvo.observe(
      stage, \.scene, options: [.old, .once], policy: .append, on: place, buffering: .oldest(1))
    kvo.observe(
      stage, \.scene, \.light, options: [.old, .once], policy: .append, on: place,
      buffering: .oldest(1))
    let registrations =
      kvo.registrations(of: stage, \.scene) + kvo.registrations(of: stage, \.light)
    for number in 1...2 {
      stage.scene = "\(number)"
      stage.light = number
    }
    expectOneWaits(registrations, 11, kvo.description, on: "ManualDelivery.ordered", after: line)
    manual.runAll()
    expectFirstWasHeard(store.lines.values, 11)
    #expect(kvo.observationCount == 0)
    withExtendedLifetime(stage) {}
  }

  @Test("K11 K12 What any thread changes is told on the main actor")
  @MainActor func onMain() async {
    let (screen, counter, line) = (Screen(), Counter(), #line)
    let kvo = screen.kvo
    kvo.observe(
      counter, \.count, options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1)
    ) { screen, _, change in screen.hear(change) }
    kvo.observe(
      counter, [\.count, \.double], options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1)
    ) { screen, _, change in screen.hear(change) }
    kvo.observe(
      counter, \.count, \.double, options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1)
    ) { screen, _, change in screen.hear(change) }
    kvo.observe(
      counter, \.count, options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1), calling: Screen.countChanged)
    kvo.observe(
      counter, [\.count, \.double], options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1), calling: Screen.countChanged)
    let registrations =
      kvo.registrations(of: counter, \.count) + kvo.registrations(of: counter, \.double)
    for _ in 1...2 { counter.increment() }
    #expect(screen.lines.isEmpty)
    expectOneWaits(registrations, 8, kvo.description, on: ".main", after: line)
    await drainMain()
    expectFirstWasHeard(screen.lines, 8)
    #expect(kvo.observationCount == 0)
    withExtendedLifetime(counter) {}
  }

  @Test("K11 K12 What the main actor changes is told on the main actor")
  @MainActor func mainPathsOnMain() async {
    let (screen, stage, line) = (Screen(), Stage(), #line)
    let kvo = screen.kvo
    kvo.observe(
      stage, \.scene, options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1)
    ) { screen, _, change in screen.hear(change) }
    kvo.observe(
      stage, [\.scene, \.scene], options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1)
    ) { screen, _, change in screen.hear(change) }
    kvo.observe(
      stage, \.scene, \.light, options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1)
    ) { screen, _, change in screen.hear(change) }
    kvo.observe(
      stage, \.scene, options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1), calling: Screen.sceneChanged)
    kvo.observe(
      stage, [\.scene, \.scene], options: [.old, .once], policy: .append, on: .main.ordered,
      buffering: .oldest(1), calling: Screen.sceneChanged)
    let registrations =
      kvo.registrations(of: stage, \.scene) + kvo.registrations(of: stage, \.light)
    for number in 1...2 {
      stage.scene = "\(number)"
      stage.light = number
    }
    #expect(screen.lines.isEmpty)
    expectOneWaits(registrations, 8, kvo.description, on: ".main", after: line)
    await drainMain()
    expectFirstWasHeard(screen.lines, 8)
    #expect(kvo.observationCount == 0)
    withExtendedLifetime(stage) {}
  }

  final class Panel: KVOChangeHandler {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func hear<Value>(_ change: KVOChange<Value>) {
      lines.append("\(change.old.map { "\($0)" } ?? "none"), \(change.new)")
    }
    func textChanged(_ player: Player, _ change: KVOChange<String>) { hear(change) }
    func anyChanged(_ player: Player, _ change: KVOChange<Any>) { hear(change) }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { hear(change) }
  }

  /// Each was told its first change, with the old value, from the line where it was made.
  private func expectOneEach(
    _ lines: [String], _ count: Int, _ description: String, after line: Int
  ) {
    expectFirstWasHeard(lines, count)
    let made = description.split(separator: "\n").dropFirst()
    #expect(made.count == count)
    #expect(made.allSatisfy { $0.contains("[old, once] on .immediate (CampanileKVOTests/") })
    expectNumbers(made, after: line)
  }

  @Test("What stays in one isolation is told where it is changed")
  func inIsolation() {
    let (panel, player, line) = (Panel(), Player(), #line)
    let kvo = panel.kvo
    kvo.observe(player, \.title, options: [.old, .once]) { $0.hear($2) }
    kvo.observe(player, \.title, options: [.old, .once], policy: .append) { $0.hear($2) }
    kvo.observe(player, [\.title, \.artist], options: [.old, .once], policy: .append) {
      $0.hear($2)
    }
    kvo.observe(player, [\.title, \.level], options: [.old, .once], policy: .append) {
      $0.hear($2)
    }
    kvo.observe(
      player, \.title, options: [.old, .once], policy: .append, calling: Panel.textChanged)
    kvo.observe(
      player, [\.title, \.artist], options: [.old, .once], policy: .append,
      calling: Panel.textChanged)
    kvo.observe(
      player, [\.title, \.level], options: [.old, .once], policy: .append,
      calling: Panel.anyChanged)
    kvo.observe(player, \.title, options: [.old, .once], policy: .append)
    kvo.observe(player, [\.title, \.level], options: [.old, .once], policy: .append)
    let description = kvo.description
    for number in 1...2 {
      player.title = "\(number)"
      player.artist = "\(number)"
      player.level = number
    }
    expectOneEach(panel.lines, 14, description, after: line)
    #expect(kvo.observationCount == 0)
  }

  @Test("Methods on the main actor are called where that changes the value")
  @MainActor func methodsInPlace() {
    let (screen, stage, line) = (Screen(), Stage(), #line)
    let kvo = screen.kvo
    kvo.observe(stage, \.scene, options: [.old, .once], calling: Screen.sceneChanged)
    kvo.observe(
      stage, \.scene, options: [.old, .once], policy: .append, calling: Screen.sceneChanged)
    kvo.observe(
      stage, [\.scene], options: [.old, .once], policy: .append, calling: Screen.sceneChanged)
    kvo.observe(
      stage, [\.scene, \.light], options: [.old, .once], policy: .append,
      calling: Screen.anyChanged)
    let description = kvo.description
    for number in 1...2 {
      stage.scene = "\(number)"
      stage.light = number
    }
    expectOneEach(screen.lines, 5, description, after: line)
    #expect(kvo.observationCount == 0)
  }

  @Test("What any thread changes is told where it is changed")
  func anywhere() {
    let (store, counter, line) = (Store(), Counter(), #line)
    let kvo = KVOController(owner: store)
    kvo.observe(counter, \.count, options: [.old, .once]) { $0.hear($2) }
    kvo.observe(counter, \.count, options: [.old, .once], policy: .append) { $0.hear($2) }
    kvo.observe(counter, [\.count, \.double], options: [.old, .once], policy: .append) {
      $0.hear($2)
    }
    kvo.observe(
      counter, \.count, options: [.old, .once], policy: .append, calling: Store.countChanged)
    kvo.observe(
      counter, [\.count, \.double], options: [.old, .once], policy: .append,
      calling: Store.countChanged)
    kvo.observe(counter, \.count, options: [.old, .once], policy: .append)
    let description = kvo.description
    for _ in 1...2 { counter.increment() }
    expectOneEach(store.lines.values, 8, description, after: line)
    #expect(kvo.observationCount == 0)
  }

  @MainActor final class Monitor: @MainActor KVOChangeHandler {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
      lines.append("\(change.old ?? "none"), \(change.new)")
    }
  }

  // Broken by: KVOController.handle, if it always delivers on the main queue, inline.
  @Test("K11 The method for all changes on the main actor")
  @MainActor func generalHandlerOnMain() async {
    let (monitor, counter, stage, line) = (Monitor(), Counter(), Stage(), #line)
    let kvo = monitor.kvo
    kvo.observe(
      counter, \.count, options: [.old, .once], policy: .append, on: .main.ordered)
    kvo.observe(
      counter, \.count, \.double, options: [.old, .once], policy: .append, on: .main.ordered)
    kvo.observe(
      stage, \.scene, options: [.old, .once], policy: .append, on: .main.ordered)
    kvo.observe(
      stage, \.scene, \.light, options: [.old, .once], policy: .append, on: .main.ordered)
    #expect(kvo.observationCount == 6)
    for number in 1...2 {
      counter.increment()
      stage.scene = "\(number)"
      stage.light = number
    }
    #expect(monitor.lines.isEmpty)
    let part = "[old, once] on .main.ordered (CampanileKVOTests/FormParameterTests.swift:"
    #expect(kvo.description.split(separator: "\n").dropFirst().allSatisfy { $0.contains(part) })
    expectNumbers(kvo.description.split(separator: "\n").dropFirst(), after: line)
    await drainMain()
    expectFirstWasHeard(monitor.lines, 6)
    #expect(kvo.observationCount == 0)
    withExtendedLifetime((counter, stage)) {}
  }

  // Broken by: either form, if it makes nothing of its policy.
  @Test(
    "One key path that is told on the main actor, and was observed already",
    arguments: [
      (KVOPolicy.ignore, ["first"]), (.replace, ["second"]), (.append, ["first", "second"]),
    ])
  @MainActor func observedAlready(policy: KVOPolicy, heard: [String]) async {
    let (anywhere, onMain, counter, stage) = (Screen(), Screen(), Counter(), Stage())
    for (name, policy) in [("first", KVOPolicy.ignore), ("second", policy)] {
      let results = [
        anywhere.kvo.observe(counter, \.count, policy: policy, on: .main.ordered) { screen, _, _ in
          screen.lines.append(name)
        },
        onMain.kvo.observe(stage, \.scene, policy: policy, on: .main.ordered) { screen, _, _ in
          screen.lines.append(name)
        },
      ]
      let isRefused = name == "second" && policy == .ignore
      #expect(results.allSatisfy { $0 == (isRefused ? .alreadyObserved : .added) })
    }
    counter.increment()
    stage.scene = "Night"
    await drainMain()
    #expect(anywhere.lines == heard)
    #expect(onMain.lines == heard)
    withExtendedLifetime((counter, stage)) {}
  }

  @Test("K11 K12 Observers with a token")
  @MainActor func tokens() async {
    let (store, counter, manual) = (Store(), Counter(), ManualTarget())
    let tokens = [
      counter.observe(
        \.count, options: [.old, .once], on: manual.delivery.ordered, buffering: .oldest(1)
      ) { _, change in store.hear(change) },
      counter.observe(
        \.count, options: [.old, .once], on: .main.ordered, buffering: .oldest(1)
      ) { _, change in store.hear(change) },
    ]
    for _ in 1...2 { counter.increment() }
    #expect(store.lines.values.isEmpty)
    #expect(tokens.map(\.registration.droppedCount) == [1, 1])
    manual.runAll()
    await drainMain()
    expectFirstWasHeard(store.lines.values, 2)
    #expect(tokens.allSatisfy { !$0.isActive })
    withExtendedLifetime(counter) {}
  }
}
