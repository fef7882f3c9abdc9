import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

extension Counter {
  fileprivate var text: String { "no. \(count)" }
}

/// Which key paths, where, and who: what each way to say it comes to.
@Suite("Forms of observing")
struct FormsTests {
  final class Store: Sendable, KVOChangeHandler {
    let lines = Recorder<String>()
    func countChanged(_ counter: Counter, _ change: KVOChange<Int>) {
      lines.record("\(change.path == \Counter.count ? "count" : "double") \(change.new)")
    }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
      lines.record("\(type(of: object)) \(change.old ?? "-") \(change.new)")
    }
    func sceneChanged(_ stage: Stage, _ change: KVOChange<String>) { lines.record(change.new) }
  }

  final class Panel: KVOChangeHandler {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func textChanged(_ player: Player, _ change: KVOChange<String>) {
      lines.append("\(change.path == \Player.title ? "title" : "artist") \(change.new)")
    }
    func anyChanged(_ player: Player, _ change: KVOChange<Any>) { lines.append("\(change.new)") }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
      lines.append("\(type(of: object)) \(change.new)")
    }
  }

  private func drain(_ queue: DispatchQueue) async {
    await withCheckedContinuation { done in queue.async { done.resume() } }
  }

  // MARK: In one isolation

  @Test("Several key paths are observed with a method of the owner, of one type or of several")
  func severalWithMethod() {
    let (panel, player) = (Panel(), Player())
    #expect(
      panel.kvo.observe(player, [\.title, \.artist], calling: Panel.textChanged) == [
        .added, .added,
      ])
    #expect(
      panel.kvo.observe(player, [\.title, \.level], calling: Panel.anyChanged)
        == [.alreadyObserved, .added])
    player.title = "Aria"
    player.artist = "Bach"
    player.level = 3
    #expect(panel.lines == ["title Aria", "artist Bach", "3"])
  }

  @Test("Several key paths of several types are observed with the method for all changes")
  func severalWithGeneralHandler() {
    let (panel, player) = (Panel(), Player())
    #expect(panel.kvo.observe(player, [\.title, \.level]) == [.added, .added])
    #expect(panel.kvo.observe(player, [\.artist, \.title]) == [.added, .alreadyObserved])
    player.title = "Aria"
    player.level = 3
    player.artist = "Bach"
    #expect(panel.lines == ["Player Aria", "Player 3", "Player Bach"])
    panel.kvo.unobserve(player, \.level)
    player.level = 4
    #expect(panel.lines.count == 3)
  }

  @Test("No key path at all is a mistake in every form that takes a list")
  func noKeyPath() async {
    await #expect(processExitsWith: .failure) {
      Panel().kvo.observe(Player(), [KeyPath<Player, String>](), calling: Panel.textChanged)
    }
    await #expect(processExitsWith: .failure) {
      let panel = Panel()
      panel.kvo.observe(Player(), [PartialKeyPath<Player>]())
    }
  }

  // MARK: On any thread

  @Test("Key paths of several types are observed on the thread that changes them")
  func severalTypes() {
    let (store, counter) = (Store(), Counter())
    let kvo = KVOController(owner: store)
    let results = kvo.observe(
      counter, \.count, \.text, \.double, options: [.initial, .old]
    ) { store, _, change in store.lines.record("\(change.old ?? "-") \(change.new)") }
    #expect(results == [.added, .added, .added])
    onThread { counter.count = 3 }()
    #expect(store.lines.values == ["- 0", "- no. 0", "- 0", "0 3", "no. 0 no. 3", "0 6"])
    #expect(kvo.observe(counter, \.text, \.count) == [.alreadyObserved, .alreadyObserved])
    withExtendedLifetime((kvo, counter)) {}
  }

  @Test("Handlers, methods and the method for all changes run on a queue, with the values of then")
  func onQueue() async {
    let (store, counter) = (Store(), Counter())
    let kvo = KVOController(owner: store)
    let queue = DispatchQueue(label: "forms")
    kvo.observe(counter, \.count, \.text, on: .queue(queue)) { store, _, change in
      dispatchPrecondition(condition: .onQueue(queue))
      store.lines.record("\(change.new)")
    }
    kvo.observe(
      counter, [\.count, \.double], policy: .append, on: .queue(queue), calling: Store.countChanged)
    kvo.observe(counter, \.count, options: .old, policy: .append, on: .queue(queue))
    kvo.observe(counter, \.count, \.text, policy: .append, on: .queue(queue))
    queue.suspend()
    counter.count = 3
    counter.count = 4
    #expect(store.lines.values.isEmpty)
    queue.resume()
    await drain(queue)
    let first = [
      "3", "no. 3", "count 3", "double 6", "Counter 0 3", "Counter - 3", "Counter - no. 3",
    ]
    #expect(store.lines.values.prefix(first.count).sorted() == first.sorted())
    #expect(store.lines.count == 2 * first.count)
    #expect(store.lines.values.last(where: { $0.hasPrefix("count") }) == "count 4")
    withExtendedLifetime((kvo, counter)) {}
  }

  @Test("The method for all changes runs on the thread that changes, where the owner is Sendable")
  func generalHandlerAnywhere() {
    let (store, counter) = (Store(), Counter())
    let kvo = KVOController(owner: store)
    kvo.observe(counter, \.count, options: .distinct)
    onThread { for count in [1, 1, 2] { counter.count = count } }()
    #expect(store.lines.values == ["Counter - 1", "Counter - 2"])
    kvo.observe(counter, [\.count, \.double], policy: .replace, calling: Store.countChanged)
    counter.count = 3
    #expect(store.lines.values.suffix(2) == ["count 3", "double 6"])
    withExtendedLifetime(kvo) {}
  }

  // MARK: On the main actor

  @MainActor final class Screen: @MainActor KVOChangeHandler {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func countChanged(_ counter: Counter, _ change: KVOChange<Int>) {
      MainActor.preconditionIsolated()
      lines.append("count \(change.new)")
    }
    func textChanged(_ stage: Stage, _ change: KVOChange<String>) { lines.append(change.new) }
    func anyChanged(_ stage: Stage, _ change: KVOChange<Any>) { lines.append("any \(change.new)") }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
      MainActor.preconditionIsolated()
      lines.append("\(type(of: object)) \(change.new)")
    }
  }

  @Test("What any thread changes is told on the main actor, with the values of then")
  @MainActor func onMain() async {
    let (screen, counter) = (Screen(), Counter())
    screen.kvo.observe(counter, \.count, on: .main, calling: Screen.countChanged)
    screen.kvo.observe(
      counter, [\.count, \.double], policy: .append, on: .main, calling: Screen.countChanged)
    screen.kvo.observe(counter, \.count, policy: .append, on: .main)
    screen.kvo.observe(counter, \.count, \.text, policy: .append, on: .main)
    screen.kvo.observe(counter, \.text, \.double, policy: .append, on: .main) { screen, _, change in
      screen.lines.append("\(change.new)")
    }
    // While this holds the main actor, all changes wait for it.
    onThread { for count in [1, 2] { counter.count = count } }()
    #expect(screen.lines.isEmpty)
    await drain(.main)
    for count in [1, 2] {
      #expect(screen.lines.filter { $0 == "count \(count)" }.count == (count == 2 ? 3 : 2))
      #expect(screen.lines.filter { $0 == "Counter \(count)" }.count == 2)
      #expect(screen.lines.filter { $0 == "Counter no. \(count)" }.count == 1)
      #expect(screen.lines.filter { $0 == "no. \(count)" }.count == 1)
    }
    #expect(screen.lines.count == 16)
    withExtendedLifetime(counter) {}
  }

  @Test("Main-actor key paths are told on the main actor")
  @MainActor func mainPaths() async {
    let (screen, stage) = (Screen(), Stage())
    screen.kvo.observe(stage, \.scene, on: .main, calling: Screen.textChanged)
    screen.kvo.observe(
      stage, [\.scene, \.scene], policy: .append, on: .main, calling: Screen.textChanged)
    screen.kvo.observe(stage, [\.scene], policy: .append, calling: Screen.textChanged)
    screen.kvo.observe(stage, [\.scene], policy: .append, on: .main) { screen, _, change in
      screen.lines.append(change.new)
    }
    screen.kvo.observe(stage, \.scene, policy: .append, on: .main)
    screen.kvo.observe(stage, \.scene, \.light, policy: .append, on: .main)
    screen.kvo.observe(stage, \.scene, \.light, policy: .append, on: .main) { screen, _, change in
      screen.lines.append("\(change.new)")
    }
    screen.kvo.observe(stage, [\.scene, \.light], policy: .append, calling: Screen.anyChanged)
    stage.scene = "Night"
    await drain(.main)
    #expect(screen.lines.filter { $0 == "Night" }.count == 6)
    #expect(screen.lines.filter { $0 == "Stage Night" }.count == 2)
    #expect(screen.lines.filter { $0 == "any Night" }.count == 1)
    stage.light = 3
    await drain(.main)
    #expect(screen.lines.suffix(3).sorted() == ["3", "Stage 3", "any 3"])
    #expect(screen.lines.count == 12)
    withExtendedLifetime(stage) {}
  }

  @Test("Main-actor key paths are told on a queue")
  @MainActor func mainPathsOnQueue() async {
    let (store, stage) = (Store(), Stage())
    let kvo = KVOController(owner: store)
    let queue = DispatchQueue(label: "forms")
    kvo.observe(stage, \.scene, on: .queue(queue), calling: Store.sceneChanged)
    kvo.observe(stage, [\.scene], policy: .append, on: .queue(queue), calling: Store.sceneChanged)
    kvo.observe(stage, [\.scene], policy: .append, on: .queue(queue)) { store, _, change in
      store.lines.record(change.new)
    }
    kvo.observe(stage, \.scene, policy: .append, on: .queue(queue))
    kvo.observe(stage, \.scene, \.light, policy: .append, on: .queue(queue))
    kvo.observe(stage, \.scene, \.light, policy: .append, on: .queue(queue)) { store, _, change in
      dispatchPrecondition(condition: .onQueue(queue))
      store.lines.record("\(change.new)")
    }
    stage.scene = "Night"
    stage.light = 3
    await drain(queue)
    let lines = store.lines.values
    #expect(lines.filter { $0 == "Night" }.count == 4)
    #expect(lines.filter { $0 == "Stage - Night" }.count == 2)
    #expect(lines.suffix(2) == ["Stage - 3", "3"])
    withExtendedLifetime((kvo, stage)) {}
  }

  @Test("K8 The method for all changes on the main actor ends with its owner")
  @MainActor func ownerOnMain() async {
    let counter = Counter()
    var screen: Screen? = Screen()
    weak let weakScreen = screen
    screen?.kvo.observe(counter, \.count, on: .main.ordered)
    counter.count = 1
    screen = nil
    #expect(weakScreen == nil)
    await drain(.main)
    counter.count = 2
    await drain(.main)
  }
}
