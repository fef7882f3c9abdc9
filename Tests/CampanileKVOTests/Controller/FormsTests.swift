import Campanile
import CampanileKVO
import Observation
import Testing

/// What each form of `observe` is given it honors, in its own lines.
@Suite("Forms of observing", .ownThread)
struct FormsTests {
  // MARK: Owners

  /// An owner for both kinds of objects, which notes all that it is told.
  final class Store: Sendable, KVOChangeHandler {
    let heard = Recorder<String>()
    let objects = Recorder<ObjectIdentifier>()
    let paths = Recorder<KVOPath>()
    let changedPaths = Recorder<[KVOPath]>()
    /// Whether it throws what it is told.
    let throwing = Flag()

    func hear<Value>(_ object: AnyObject?, _ change: KVOChange<Value>) throws {
      let old = change.old.map { "\($0)" } ?? "-"
      heard.record("\(change.phase) \(old) \(change.new)")
      if let object { objects.record(ObjectIdentifier(object)) }
      paths.record(change.path)
      changedPaths.record(change.changedPaths)
      if throwing.isSet { throw TestFailure() }
    }

    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) throws {
      try hear(object, change)
    }
  }

  typealias Policy = KVOController<Store>.Policy
  typealias Options = KVOChange<Int>.Options

  // MARK: Forms

  /// An observation, whichever form has made it.
  struct Made {
    /// What the controller says, where there is one.
    let outcome: KVOResult.Outcome?
    let registration: Registration
    private let token: ObservationToken?
    /// Where it was made.
    let line: Int

    init(_ result: KVOResult, _ line: Int) {
      outcome = result.outcome
      registration = result.registration
      token = nil
      self.line = line
    }

    init(_ token: ObservationToken, _ line: Int) {
      outcome = nil
      registration = token.registration
      self.token = token
      self.line = line
    }

    init(_ registration: Registration, _ line: Int) {
      outcome = nil
      self.registration = registration
      token = nil
      self.line = line
    }

    var isActive: Bool { registration.isActive }

    func cancel() { registration.cancel() }
  }

  /// The forms for objects that stay in one isolation.
  enum ConfinedForm: CaseIterable {
    case controller, controllerOf, general, object, objectOf

    var isOfController: Bool { self != .object && self != .objectOf }
    var hasKeyPath: Bool { self != .controllerOf && self != .objectOf }
    var isOfToken: Bool { !isOfController }
    static let ofController = allCases.filter(\.isOfController)

    func observe<Object: Observable & AnyObject>(
      _ kvo: KVOController<Store>, _ store: Store?, _ object: Object, _ path: KeyPath<Object, Int>,
      _ options: Options = [], isOnce: Bool = false, policy: Policy = .ignore,
      isolation: isolated (any Actor)? = #isolation
    ) -> Made {
      let options: Options = isOnce ? [options, .once] : options
      let line: Int
      switch self {
      case .controller:
        line = #line + 1
        let result = kvo.observe(object, path, options: options, policy: policy) {
          try $0.hear($1, $2)
        }
        return Made(result, line)
      case .controllerOf:
        line = #line + 1
        let result = kvo.observe(object, of: { $0[keyPath: path] }, options: options) {
          try $0.hear($1, $2)
        }
        return Made(result, line)
      case .general:
        line = #line + 1
        let result = kvo.observe(object, path, options: options, policy: policy)
        return Made(result, line)
      case .object:
        line = #line + 1
        let token = object.observe(path, options: options) { [weak store] in try store?.hear($0, $1)
        }
        return Made(token, line)
      case .objectOf:
        line = #line + 1
        let token = object.observe(of: { $0[keyPath: path] }, options: options) { [weak store] in
          try store?.hear($0, $1)
        }
        return Made(token, line)
      }
    }
  }

  /// The forms for objects that any thread may change.
  enum SharedForm: CaseIterable {
    case controller, controllerOf, general, object, objectOf, changes, changesOfOwner

    var isOfController: Bool { [.controller, .controllerOf, .general].contains(self) }
    var hasKeyPath: Bool { self != .controllerOf && self != .objectOf }
    var isOfToken: Bool { [.object, .objectOf, .changes].contains(self) }
    var isOfSource: Bool { self == .changes || self == .changesOfOwner }
    static let ofController = allCases.filter(\.isOfController)

    func observe<Object: SharedObservable>(
      _ kvo: KVOController<Store>, _ store: Store?, _ object: Object,
      _ path: any KeyPath<Object, Int> & Sendable, _ options: KVOChange<Int>.SharedOptions = [],
      isOnce: Bool = false, policy: Policy = .ignore
    ) -> Made {
      let read: @Sendable (Object) -> Int = { $0[keyPath: path as KeyPath<Object, Int>] }
      let ofObserver: KVOChange<Int>.SharedOptions = isOnce ? [options, .once] : options
      let line: Int
      switch self {
      case .controller:
        line = #line + 1
        let result = kvo.observe(object, path, options: ofObserver, policy: policy) {
          try $0.hear($1, $2)
        }
        return Made(result, line)
      case .controllerOf:
        line = #line + 1
        let result = kvo.observe(object, of: read, options: ofObserver) { try $0.hear($1, $2) }
        return Made(result, line)
      case .general:
        line = #line + 1
        let result = kvo.observe(object, path, options: ofObserver, policy: policy)
        return Made(result, line)
      case .object:
        line = #line + 1
        let token = object.observe(path, options: ofObserver) { [weak store] in
          try store?.hear($0, $1)
        }
        return Made(token, line)
      case .objectOf:
        line = #line + 1
        let token = object.observe(of: read, options: ofObserver) { [weak store] in
          try store?.hear($0, $1)
        }
        return Made(token, line)
      case .changes:
        line = #line + 1
        let token = object.changes(of: path, options: options).observe(isOnce ? .once : []) {
          [weak store] in try store?.hear(nil, $0)
        }
        return Made(token, line)
      case .changesOfOwner:
        guard let store else { preconditionFailure("There is an owner in this form") }
        line = #line + 1
        let registration = object.changes(of: path, options: options).observe(
          owner: store, isOnce ? .once : []
        ) { try $0.hear(nil, $1) }
        return Made(registration, line)
      }
    }
  }

  let store = Store()
  let counter = Counter()
  let kvo: KVOController<Store>

  init() { kvo = KVOController(owner: store) }

  // MARK: What is handed over, and when

  private let allCalls = [
    "initial - 0", "prior 0 0", "changed 0 1", "prior 1 1", "prior 1 1", "changed 1 2",
  ]

  private func expectAll<Object: AnyObject>(
    of object: Object, path: KVOPath, changed: KVOPath, hasObject: Bool = true,
    hasPrior: Bool = true
  ) {
    let allCalls = allCalls.filter { hasPrior || !$0.hasPrefix("prior") }
    #expect(store.heard.values == allCalls)
    #expect(store.paths.values == allCalls.map { _ in path })
    #expect(store.changedPaths.values == [[]] + allCalls.dropFirst().map { _ in [changed] })
    let object = ObjectIdentifier(object)
    #expect(store.objects.values == (hasObject ? allCalls.map { _ in object } : []))
  }

  @Test(
    "Each confined form hands over the object and the change, as its options have it",
    arguments: ConfinedForm.allCases)
  func confined(form: ConfinedForm) {
    let radio = Radio()
    let made = form.observe(kvo, store, radio, \.volume, [.initial, .prior, .old, .distinct])
    #expect(made.outcome == (form.isOfController ? .added : nil))
    for volume in [1, 1, 2] { radio.volume = volume }
    let (volume, whole) = (KVOPath(\Radio.volume), KVOPath(\Radio.self))
    expectAll(of: radio, path: form.hasKeyPath ? volume : whole, changed: volume)
    #expect(made.isActive)
    #expect(kvo.observationCount == (form.isOfController ? 1 : 0))
  }

  @Test(
    "Each form for any thread hands over the object and the change, as its options have it",
    arguments: SharedForm.allCases)
  func shared(form: SharedForm) {
    let made = form.observe(kvo, store, counter, \.count, [.initial, .old, .distinct])
    #expect(made.outcome == (form.isOfController ? .added : nil))
    for count in [1, 1, 2] { counter.count = count }
    let (count, whole) = (KVOPath(\Counter.count), KVOPath(\Counter.self))
    expectAll(
      of: counter, path: form.hasKeyPath ? count : whole, changed: count,
      hasObject: !form.isOfSource, hasPrior: false)
    #expect(made.isActive)
    #expect(kvo.observationCount == (form.isOfController ? 1 : 0))
  }

  @Test("Without options each confined form tells the new values", arguments: ConfinedForm.allCases)
  func confinedPlain(form: ConfinedForm) {
    let radio = Radio()
    let made = form.observe(kvo, store, radio, \.volume)
    radio.station = "unheard"
    for volume in [1, 1] { radio.volume = volume }
    #expect(store.heard.values == ["changed - 1", "changed - 1"])
    withExtendedLifetime(made) {}
  }

  @Test(
    "Without options each form for any thread tells the new values", arguments: SharedForm.allCases)
  func sharedPlain(form: SharedForm) {
    let made = form.observe(kvo, store, counter, \.count)
    for count in [1, 1] { counter.count = count }
    #expect(store.heard.values == ["changed - 1", "changed - 1"])
    withExtendedLifetime(made) {}
  }

  @Test("Each confined form ends with its first call if asked to", arguments: ConfinedForm.allCases)
  func confinedOnce(form: ConfinedForm) {
    let radio = Radio()
    let made = form.observe(kvo, store, radio, \.volume, .old, isOnce: true)
    #expect(made.isActive)
    for volume in [1, 2] { radio.volume = volume }
    #expect(store.heard.values == ["changed 0 1"])
    #expect(!made.isActive)
    #expect(kvo.observationCount == 0)
  }

  @Test(
    "Each form for any thread ends with its first call if asked to", arguments: SharedForm.allCases)
  func sharedOnce(form: SharedForm) {
    let made = form.observe(kvo, store, counter, \.count, .old, isOnce: true)
    #expect(made.isActive)
    for count in [1, 2] { counter.count = count }
    #expect(store.heard.values == ["changed 0 1"])
    #expect(!made.isActive)
    #expect(kvo.observationCount == 0)
  }

  // MARK: What several properties make

  @Test("What a closure reads of several properties is one observation, with a typed value")
  func severalProperties() {
    let (log, player) = (Log(), Player())
    let result = log.kvo.observe(player, of: { ($0.level, $0.title) }, options: [.initial, .old]) {
      log, same, change in
      #expect(same === player && change.path == \Player.self)
      let names = change.changedPaths.map { $0 == \Player.level ? "level" : "title" }
      let old = change.old.map { "\($0.0) \($0.1)" } ?? "none"
      log.lines.append("\(names) \(old): \(change.new.0) \(change.new.1)")
    }
    #expect(result.outcome == .added)
    player.title = "Aria"
    player.artist = "unheard"
    player.level = 2
    KVOTransaction.perform { (player.level, player.title) = (3, "Gigue") }
    #expect(
      log.lines == [
        "[] none: 0 ", "[\"title\"] 0 : 0 Aria", "[\"level\"] 0 Aria: 2 Aria",
        "[\"level\", \"title\"] 2 Aria: 3 Gigue",
      ])
    #expect(log.kvo.observationCount == 1)
  }

  @Test("What a closure reads of several properties of an object for any thread is told there")
  func severalSharedProperties() {
    let result = kvo.observe(counter, of: { ($0.count, $0.double) }) { store, _, change in
      store.heard.record("\(change.new.0) \(change.new.1)")
    }
    #expect(result.outcome == .added)
    let token = counter.observe(of: { ["\($0.count)", "\($0.double)"] }, options: .distinct) {
      [store] _, change in store.heard.record(change.new.joined(separator: "/"))
    }
    onThread { [counter] in for count in [1, 1, 2] { counter.count = count } }()
    #expect(store.heard.values == ["1 2", "1/2", "1 2", "2 4", "2/4"])
    withExtendedLifetime(token) {}
  }

  @Test("A closure is followed to other objects, and to other properties")
  func closureLeadsElsewhere() {
    let (log, radio, next) = (Log(), Radio(), Radio())
    next.volume = 7
    let token = radio.observe(of: { $0.station == "next" ? $0.next?.volume : $0.volume }) {
      log.lines.append("\($1.new ?? -1)")
    }
    radio.volume = 1
    next.volume = 8
    radio.station = "next"
    radio.next = next
    radio.volume = 2
    next.volume = 9
    #expect(log.lines == ["1", "-1", "8", "9"])
    withExtendedLifetime(token) {}
  }

  // MARK: Policies

  private func expect(
    _ first: Made, _ second: Made, takesPolicy: Bool, _ policy: Policy, _ change: () -> Void
  ) {
    let policy = takesPolicy ? policy : .append
    #expect(first.outcome == .added)
    #expect(second.outcome == (policy == .ignore ? .alreadyObserved : .added))
    #expect((second.registration == first.registration) == (policy == .ignore))
    #expect(first.isActive == (policy != .replace))
    #expect(second.isActive)
    let count = policy == .append ? 2 : 1
    #expect(kvo.observationCount == count)
    // Whoever is not added makes no initial call.
    #expect(store.heard.values == (policy == .ignore ? [] : ["initial - 0"]))
    change()
    #expect(store.heard.values.filter { $0 == "changed - 1" }.count == count)
  }

  @Test(
    "Each confined form of a controller honors its policy; of a closure, each call makes one",
    arguments: ConfinedForm.ofController, [Policy.ignore, .replace, .append])
  func confinedPolicy(form: ConfinedForm, policy: Policy) {
    let radio = Radio()
    let first = form.observe(kvo, store, radio, \.volume)
    let second = form.observe(kvo, store, radio, \.volume, .initial, policy: policy)
    expect(first, second, takesPolicy: form.hasKeyPath, policy) { radio.volume = 1 }
  }

  @Test(
    "Each form of a controller for any thread honors its policy; of a closure, each call makes one",
    arguments: SharedForm.ofController, [Policy.ignore, .replace, .append])
  func sharedPolicy(form: SharedForm, policy: Policy) {
    let first = form.observe(kvo, store, counter, \.count)
    let second = form.observe(kvo, store, counter, \.count, .initial, policy: policy)
    expect(first, second, takesPolicy: form.hasKeyPath, policy) { counter.count = 1 }
  }

  @Test("A key path and a closure do not stand in each other's way, whatever the form")
  func keyPathBesideClosure() {
    let radio = Radio()
    for form in ConfinedForm.ofController { _ = form.observe(kvo, store, radio, \.volume) }
    #expect(kvo.observationCount == 2)
    for form in SharedForm.ofController {
      _ = form.observe(kvo, store, counter, \.count, policy: .replace)
    }
    #expect(kvo.observationCount == 4)
    kvo.unobserve(radio, \.volume)
    radio.volume = 1
    #expect(store.paths.values == [KVOPath(\Radio.self)])
  }

  // MARK: File and line

  private static let file = "CampanileKVOTests/FormsTests.swift"

  private func expectLine(_ made: Made, options: String, _ name: String) {
    let lines = kvo.description.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines[1] == "  \(name) \(options) (\(Self.file):\(made.line))")
  }

  @Test(
    "The description of a controller has the place of each confined form",
    arguments: ConfinedForm.ofController)
  func confinedDescription(form: ConfinedForm) {
    let radio = Radio()
    let made = form.observe(kvo, store, radio, \.volume, [.old, .distinct])
    let name = form.hasKeyPath ? KVOPath(\Radio.volume) : KVOPath(\Radio.self)
    expectLine(made, options: "[old, distinct]", "Radio \(name)")
  }

  @Test(
    "The description of a controller has the place of each form for any thread",
    arguments: SharedForm.ofController)
  func sharedDescription(form: SharedForm) {
    let made = form.observe(kvo, store, counter, \.count, [.old, .distinct])
    let name = form.hasKeyPath ? KVOPath(\Counter.count) : KVOPath(\Counter.self)
    expectLine(made, options: "[old, distinct]", "Counter \(name)")
  }

  private func expectFailure(_ failures: Recorder<ObserverFailure>, _ made: Made) {
    #expect(failures.count == 2)
    #expect(failures.values.allSatisfy { $0.error is TestFailure })
    #expect(failures.values.allSatisfy { $0.file == Self.file && $0.line == made.line })
    #expect(made.isActive)
  }

  @Test(
    "What an observer throws goes to the controller's handler, with the place of the confined form",
    arguments: ConfinedForm.ofController)
  func confinedFailure(form: ConfinedForm) {
    let radio = Radio()
    let failures = Recorder<ObserverFailure>()
    let kvo = KVOController(owner: store, onError: { failures.record($0) })
    store.throwing.set()
    let made = form.observe(kvo, store, radio, \.volume, .initial)
    radio.volume = 1
    expectFailure(failures, made)
    withExtendedLifetime(kvo) {}
  }

  @Test(
    "What an observer throws goes to the controller's handler, with the place of the shared form",
    arguments: SharedForm.ofController)
  func sharedFailure(form: SharedForm) {
    let failures = Recorder<ObserverFailure>()
    let kvo = KVOController(owner: store, onError: { failures.record($0) })
    store.throwing.set()
    let made = form.observe(kvo, store, counter, \.count, .initial)
    counter.count = 1
    expectFailure(failures, made)
    withExtendedLifetime(kvo) {}
  }

  /// Has an observer of each form throw.
  ///
  /// - Returns: The lines where they were made.
  @discardableResult private static func throwInEach() -> [Int] {
    let (store, radio, counter) = (Store(), Radio(), Counter())
    let kvo = KVOController(owner: store)
    store.throwing.set()
    let made =
      ConfinedForm.allCases.map { $0.observe(kvo, store, radio, \.volume, policy: .append) }
      + SharedForm.allCases.map { $0.observe(kvo, store, counter, \.count, policy: .append) }
    radio.volume = 1
    counter.count = 1
    return made.map(\.line)
  }

  @Test("What an observer throws that nobody handles is written, with the place of each form")
  func writtenFailures() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) { FormsTests.throwInEach() }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let written = text.split(separator: "\n").filter { $0.contains("threw TestFailure()") }
    let lines = Self.throwInEach()
    #expect(written.count == lines.count)
    for line in lines {
      #expect(written.filter { $0.contains("\(Self.file):\(line) threw") }.count == 1)
    }
  }

  // MARK: Where it runs

  /// Any thread may change it; it notes where it is read.
  final class Gauge: SharedObservable {
    let reads = Recorder<Int>()
    private let registrar = KVORegistrar()
    private let state = Locked(0)

    var level: Int {
      get {
        registrar.access(self, keyPath: \.level)
        let level = state.withLock { $0 }
        reads.record(level)
        return level
      }
      set {
        registrar.withMutation(of: self, keyPath: \.level) { state.withLock { $0 = newValue } }
      }
    }
  }

  /// What it keeps is reached on the main actor alone.
  @MainActor @Observable final class Desk {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var gauge = Gauge()
  }

  @Test(
    "What another thread changes on the way is read and told on the main actor by its forms",
    arguments: ConfinedForm.allCases)
  @MainActor func onMain(form: ConfinedForm) async {
    let desk = Desk()
    let gauge = desk.gauge
    let made = form.observe(kvo, store, desk, \.gauge.level)
    let readCount = gauge.reads.count
    onThread { gauge.level = 3 }()
    #expect(gauge.reads.count == readCount)
    #expect(store.heard.values.isEmpty)
    await drainMain()
    #expect(store.heard.values == ["changed - 3"])
    // What the main actor itself changes is told before the setter returns.
    gauge.level = 4
    #expect(store.heard.values == ["changed - 3", "changed - 4"])
    #expect(store.heard.entries.allSatisfy { $0.place.isMain })
    #expect(gauge.reads.entries.allSatisfy { $0.place.isMain })
    withExtendedLifetime((made, desk)) {}
  }

  @Test("Changes of a main-actor key path are read there, and told at the observer's place")
  @MainActor func mainChanges() async {
    let (desk, manual) = (Desk(), ManualTarget())
    let gauge = desk.gauge
    store.heard.recognize(manual.delivery)
    let changes = desk.changes(of: \.gauge.level, options: .old)
    let tokens = [
      changes.observe(on: manual.delivery) { [store] in try store.hear(nil, $0) },
      changes.observe(on: .main) { [store] change in
        MainActor.preconditionIsolated()
        store.heard.record("main \(change.old, default: "-") \(change.new)")
      },
    ]
    onThread { gauge.level = 3 }()
    #expect(manual.pendingCount == 0)
    await drainMain()
    #expect(store.heard.values == ["main 0 3"])
    manual.runAll()
    #expect(store.heard.values == ["main 0 3", "changed 0 3"])
    #expect(store.heard.entries[0].place.isMain)
    #expect(store.heard.entries[1].place.isOn(manual.delivery))
    gauge.level = 4
    // At once, or when what other tests have for the main actor is done.
    await drainMain()
    #expect(store.heard.values.last == "main 3 4")
    #expect(gauge.reads.entries.allSatisfy { $0.place.isMain })
    withExtendedLifetime((tokens, desk)) {}
  }

  @Test(
    "What any thread changes is read and told there, also if the main actor observes it",
    arguments: SharedForm.allCases)
  @MainActor func anywhere(form: SharedForm) {
    let gauge = Gauge()
    let made = form.observe(kvo, store, gauge, \.level)
    let readCount = gauge.reads.count
    let changes = Recorder<Int>()
    onThread {
      for level in [1, 2] {
        changes.record(level)
        gauge.level = level
      }
    }()
    #expect(store.heard.values == ["changed - 1", "changed - 2"])
    let reads = gauge.reads.entries.dropFirst(readCount)
    #expect(reads.map(\.value) == [1, 2])
    let threads = changes.entries.map(\.place.thread)
    #expect(reads.map(\.place.thread) == threads)
    #expect(store.heard.entries.map(\.place.thread) == threads)
    withExtendedLifetime(made) {}
  }

  @Test("What any thread changes is read there at once, and told on the main actor")
  @MainActor func anywhereOnMain() async {
    let gauge = Gauge()
    let changes = gauge.changes(of: \.level)
    let token = changes.observe(on: .main) { [store] in try store.hear(nil, $0) }
    changes.observe(owner: store, on: .main) { store, change in
      store.heard.record("owner \(change.new)")
    }
    let readCount = gauge.reads.count
    onThread { for level in [1, 2] { gauge.level = level } }()
    let reads = gauge.reads.entries.dropFirst(readCount)
    #expect(reads.map(\.value) == [1, 2])
    #expect(reads.allSatisfy { !$0.place.isMain })
    #expect(store.heard.values.isEmpty)
    await drainMain()
    let heard = store.heard.values
    #expect(heard.filter { $0.hasPrefix("owner") } == ["owner 1", "owner 2"])
    #expect(heard.filter { $0.hasPrefix("changed") } == ["changed - 1", "changed - 2"])
    #expect(store.heard.entries.allSatisfy { $0.place.isMain })
    withExtendedLifetime((token, gauge)) {}
  }

  /// Keeps a plain object, and observes it.
  actor Room {
    private let radio = Radio()
    private var made: Made?

    /// - Returns: How much had been heard when the setter returned.
    func follow(_ form: ConfinedForm, _ kvo: KVOController<Store>, _ store: Store) -> Int {
      made = form.observe(kvo, store, radio, \.volume)
      radio.volume = 1
      return store.heard.count
    }
  }

  @Test(
    "Inside an actor each confined form tells before the setter returns, on its thread",
    arguments: ConfinedForm.allCases)
  func inActor(form: ConfinedForm) async {
    let room = Room()
    #expect(await room.follow(form, kvo, store) == 1)
    #expect(store.heard.values == ["changed - 1"])
    withExtendedLifetime(room) {}
  }

  @MainActor final class Screen: @MainActor KVOChangeHandler {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
      MainActor.preconditionIsolated()
      lines.append("\(type(of: object)) \(change.old ?? "-") \(change.new)")
    }
  }

  @Test("The method for all changes of an owner on the main actor is isolated to it")
  @MainActor func generalOnMain() {
    let (screen, stage, radio) = (Screen(), Stage(), Radio())
    #expect(screen.kvo.observe(stage, \.scene, options: .old).outcome == .added)
    #expect(screen.kvo.observe(radio, \.volume, options: .initial).outcome == .added)
    #expect(screen.kvo.observe(stage, \.scene).outcome == .alreadyObserved)
    stage.scene = "Night"
    radio.volume = 1
    #expect(screen.lines == ["Radio - 0", "Stage  Night", "Radio - 1"])
  }

  // MARK: Deliveries

  @Test("K11 K12 What any thread changes is told at a place, once, and from a bounded buffer")
  @MainActor func atPlace() async {
    let manual = ManualTarget()
    let changes = counter.changes(of: \.count, options: .old)
    let tokens = [
      changes.observe(on: manual.delivery.ordered, buffering: .oldest(1), .once) { [store] in
        try store.hear(nil, $0)
      },
      changes.observe(on: .main.ordered, buffering: .oldest(1), .once) { [store] in
        try store.hear(nil, $0)
      },
    ]
    let registrations =
      tokens.map(\.registration) + [
        changes.observe(
          owner: store, on: manual.delivery.ordered, buffering: .oldest(1), .once
        ) { try $0.hear(nil, $1) },
        changes.observe(owner: store, on: .main.ordered, buffering: .oldest(1), .once) {
          try $0.hear(nil, $1)
        },
      ]
    await expectOneWaits(registrations, manual) { for count in 1...2 { counter.count = count } }
    withExtendedLifetime(tokens) {}
  }

  @Test("K11 K12 What the main actor changes is told at a place, once, and from a bounded buffer")
  @MainActor func mainAtPlace() async {
    let (stage, manual) = (Stage(), ManualTarget())
    let changes = stage.changes(of: \.light, options: .old)
    let tokens = [
      changes.observe(on: manual.delivery.ordered, buffering: .oldest(1), .once) { [store] in
        try store.hear(nil, $0)
      },
      changes.observe(on: .main.ordered, buffering: .oldest(1), .once) { [store] in
        try store.hear(nil, $0)
      },
    ]
    let registrations =
      tokens.map(\.registration) + [
        changes.observe(
          owner: store, on: manual.delivery.ordered, buffering: .oldest(1), .once
        ) { try $0.hear(nil, $1) },
        changes.observe(owner: store, on: .main.ordered, buffering: .oldest(1), .once) {
          try $0.hear(nil, $1)
        },
      ]
    await expectOneWaits(registrations, manual) { for light in 1...2 { stage.light = light } }
    withExtendedLifetime((tokens, stage)) {}
  }

  /// After two changes one was dropped, and the other one waits.
  @MainActor private func expectOneWaits(
    _ registrations: [Registration], _ manual: ManualTarget, _ change: () -> Void
  ) async {
    change()
    #expect(store.heard.values.isEmpty)
    #expect(registrations.map(\.droppedCount) == registrations.map { _ in 1 })
    manual.runAll()
    #expect(store.heard.values == ["changed 0 1", "changed 0 1"])
    await drainMain()
    #expect(store.heard.values == registrations.map { _ in "changed 0 1" })
    #expect(registrations.allSatisfy { !$0.isActive })
  }

  @Test("K8 An observation of changes on the main actor ends with its owner")
  @MainActor func ownerOnMain() async {
    let stage = Stage()
    var screen: Screen? = Screen()
    weak let weakScreen = screen
    let heard = Recorder<Int>()
    let registrations = [
      counter.changes(of: \.count).observe(owner: screen!, on: .main.ordered) {
        heard.record($1.new)
      },
      stage.changes(of: \.light).observe(owner: screen!, on: .main.ordered) {
        heard.record($1.new)
      },
    ]
    counter.count = 1
    stage.light = 1
    screen = nil
    #expect(weakScreen == nil)
    await drainMain()
    counter.count = 2
    stage.light = 2
    await drainMain()
    #expect(heard.count == 0)
    #expect(registrations.allSatisfy { !$0.isActive })
  }

  // MARK: Ends

  @Test(
    "Each confined form keeps neither object nor owner, and ends with the object",
    arguments: ConfinedForm.allCases)
  func confinedObjectDies(form: ConfinedForm) {
    var radio: Radio? = Radio()
    weak let weakRadio = radio
    let made = form.observe(kvo, store, radio!, \.volume, [.initial, .old])
    radio?.volume = 1
    radio = nil
    #expect(weakRadio == nil)
    #expect(!made.isActive)
    #expect(kvo.observationCount == 0)
  }

  @Test(
    "Each form for any thread keeps neither object nor owner, and ends with the object",
    arguments: SharedForm.allCases)
  func sharedObjectDies(form: SharedForm) {
    var counter: Counter? = Counter()
    weak let weakCounter = counter
    let made = form.observe(kvo, store, counter!, \.count, [.initial, .old])
    counter?.count = 1
    counter = nil
    #expect(weakCounter == nil)
    #expect(!made.isActive)
    #expect(kvo.observationCount == 0)
  }

  @Test(
    "Each confined form of a controller ends with its owner, and is refused from then on",
    arguments: ConfinedForm.ofController)
  func confinedOwnerDies(form: ConfinedForm) {
    let radio = Radio()
    var store: Store? = Store()
    weak let weakStore = store
    let heard = store!.heard
    let kvo = KVOController(owner: store!)
    let made = form.observe(kvo, store, radio, \.volume)
    radio.volume = 1
    store = nil
    #expect(weakStore == nil)
    #expect(kvo.observationCount == 0)
    radio.volume = 2
    #expect(heard.values == ["changed - 1"])
    #expect(!made.isActive)
    let refused = form.observe(kvo, nil, radio, \.volume, .initial, policy: .append)
    #expect(refused.outcome == .refused)
    #expect(!refused.isActive)
    #expect(heard.count == 1)
  }

  @Test(
    "Each form for any thread that has an owner ends with it",
    arguments: SharedForm.ofController + [.changesOfOwner])
  func sharedOwnerDies(form: SharedForm) {
    var store: Store? = Store()
    weak let weakStore = store
    let heard = store!.heard
    let kvo = KVOController(owner: store!)
    let made = form.observe(kvo, store, counter, \.count)
    counter.count = 1
    store = nil
    #expect(weakStore == nil)
    #expect(kvo.observationCount == 0)
    counter.count = 2
    #expect(heard.values == ["changed - 1"])
    #expect(!made.isActive)
  }

  @Test(
    "Each form for any thread of a controller whose owner has gone is refused",
    arguments: SharedForm.ofController)
  func sharedOwnerHasDied(form: SharedForm) {
    var store: Store? = Store()
    let heard = store!.heard
    let kvo = KVOController(owner: store!)
    store = nil
    let refused = form.observe(kvo, nil, counter, \.count, .initial, policy: .append)
    counter.count = 1
    #expect(refused.outcome == .refused)
    #expect(!refused.isActive)
    #expect(heard.count == 0)
  }

  /// The ways to end an observation before what it needs has gone.
  enum End: CaseIterable { case controller, release, cancel, unobserve, unobserveAll }

  @Test(
    "Each confined form ends with its controller or its token, whichever it has, or by being ended",
    arguments: ConfinedForm.allCases, End.allCases)
  func confinedEnds(form: ConfinedForm, end: End) {
    let radio = Radio()
    expect(end, of: radio, isOfController: form.isOfController, isOfToken: form.isOfToken) {
      form.observe($0, store, radio, \.volume)
    } set: {
      radio.volume = $0
    }
  }

  @Test(
    "Each form for any thread ends with its controller or its token, whichever it has, or by being ended",
    arguments: SharedForm.allCases, End.allCases)
  func sharedEnds(form: SharedForm, end: End) {
    expect(end, of: counter, isOfController: form.isOfController, isOfToken: form.isOfToken) {
      form.observe($0, store, counter, \.count)
    } set: {
      counter.count = $0
    }
  }

  /// Ends an observation, and looks whether that ends it, and nothing else does.
  private func expect(
    _ end: End, of object: some AnyObject, isOfController: Bool, isOfToken: Bool,
    observe: (KVOController<Store>) -> Made, set: (Int) -> Void
  ) {
    var kvo: KVOController<Store>? = KVOController(owner: store)
    var made: Made? = observe(kvo!)
    set(1)
    var isEnded = isOfController
    switch end {
    case .controller: kvo = nil
    case .unobserve: kvo?.unobserve(object)
    case .unobserveAll: kvo?.unobserveAll()
    case .release:
      made = nil
      isEnded = isOfToken
    case .cancel:
      made?.cancel()
      isEnded = true
    }
    set(2)
    #expect(store.heard.values == ["changed - 1"] + (isEnded ? [] : ["changed - 2"]))
    if let made { #expect(made.isActive == !isEnded) }
    if let kvo { #expect(kvo.observationCount == (isOfController && !isEnded ? 1 : 0)) }
    withExtendedLifetime((made, kvo)) {}
  }

  @Test("K16 What observer and closure captured is released when the observation ends")
  func captures() {
    let radio = Radio()
    let live = LiveCount()
    var tokens: [AnyObject] = []
    do {
      let probe = Tracked(live)
      kvo.observe(radio, of: { [probe] in (probe.touch(), $0.volume) }) { _, _, _ in probe.touch() }
      kvo.observe(
        counter,
        of: {
          probe.touch()
          return $0.count
        }
      ) { _, _, _ in probe.touch() }
      tokens = [
        radio.observe(of: { [probe] in (probe.touch(), $0.volume) }) { _, _ in probe.touch() },
        counter.observe(of: {
          probe.touch()
          return $0.count
        }) { _, _ in probe.touch() },
      ]
    }
    #expect(live.current == 1)
    kvo.unobserveAll()
    #expect(live.current == 1)
    tokens = []
    #expect(live.current == 0)
    withExtendedLifetime(tokens) {}
  }

  // MARK: Nothing to observe

  /// With the macro, and without the line that makes it observable by key path.
  @Observable final class Bare {
    var level = 0
  }

  /// What is computed from constants never changes.
  final class Constants: Observable {
    let one = 1
    var two: Int { one + 1 }
  }

  /// For any thread; its getter tells of no read.
  final class SharedBare: SharedObservable {
    private let state = Locked(0)
    var level: Int {
      get { state.withLock { $0 } }
      set { state.withLock { $0 = newValue } }
    }
  }

  final class SharedConstants: SharedObservable {
    let one = 1
    var two: Int { one + 1 }
  }

  @MainActor @Observable final class BareStage {
    var light = 0
  }

  private func expectNothing(_ made: Made, isOfController: Bool, heard: [String]) {
    #expect(made.outcome == (isOfController ? .nothingObserved : nil))
    #expect(!made.isActive)
    #expect(store.heard.values == heard)
    #expect(kvo.observationCount == 0)
  }

  @Test(
    "A class with the macro and without its registrar is not observed by any confined form",
    arguments: ConfinedForm.allCases)
  func bare(form: ConfinedForm) {
    let bare = Bare()
    let made = form.observe(kvo, store, bare, \.level, [.initial, .old])
    bare.level = 1
    expectNothing(made, isOfController: form.isOfController, heard: ["initial - 0"])
    #expect(!kvo.isObserving(bare, \.level))
    // There is nothing in the way of another try.
    let again = form.observe(kvo, store, bare, \.level)
    bare.level = 2
    expectNothing(again, isOfController: form.isOfController, heard: ["initial - 0"])
  }

  @Test(
    "A computed property of constants is not observed by any confined form",
    arguments: ConfinedForm.allCases)
  func constants(form: ConfinedForm) {
    let constants = Constants()
    let made = form.observe(kvo, store, constants, \.two, .initial, isOnce: true)
    expectNothing(made, isOfController: form.isOfController, heard: ["initial - 2"])
    let stored = form.observe(kvo, store, constants, \.one)
    expectNothing(stored, isOfController: form.isOfController, heard: ["initial - 2"])
  }

  @Test(
    "A class that tells of no reads is not observed by any form for any thread",
    arguments: SharedForm.allCases)
  func sharedBare(form: SharedForm) {
    let bare = SharedBare()
    let made = form.observe(kvo, store, bare, \.level)
    bare.level = 1
    expectNothing(made, isOfController: form.isOfController, heard: [])
    #expect(!kvo.isObserving(bare, \.level))
  }

  @Test(
    "A computed property of constants is not observed by any form for any thread",
    arguments: SharedForm.allCases)
  func sharedConstants(form: SharedForm) {
    let constants = SharedConstants()
    let made = form.observe(kvo, store, constants, \.two)
    expectNothing(made, isOfController: form.isOfController, heard: [])
  }

  @Test(
    "Where nothing is observed, the initial call is made, but for a source, which has finished",
    arguments: SharedForm.allCases)
  func initialOfNothing(form: SharedForm) {
    let constants = SharedConstants()
    let made = form.observe(kvo, store, constants, \.two, .initial)
    expectNothing(
      made, isOfController: form.isOfController, heard: form.isOfSource ? [] : ["initial - 2"])
  }

  @Test("Changes of what cannot be observed have finished, and so have their sequences")
  @MainActor func changesOfNothing() async {
    let (stage, bare) = (BareStage(), SharedBare())
    for changes in [stage.changes(of: \.light), bare.changes(of: \.level)] {
      let token = changes.observe { [store] in try store.hear(nil, $0) }
      let values = changes.values()
      stage.light = 1
      bare.level = 1
      #expect(!token.isActive)
      for await change in values { Issue.record("told \(change)") }
    }
    #expect(store.heard.count == 0)
  }

  @Test("What is observed instead of something and reads nothing ends that too")
  func replacedByNothing() {
    let switching = Switching()
    let first = kvo.observe(switching, \.value) { try $0.hear($1, $2) }
    switching.isOn = false
    let second = kvo.observe(switching, \.value, policy: .replace) { try $0.hear($1, $2) }
    #expect(second.outcome == .nothingObserved)
    #expect(!first.registration.isActive && !second.registration.isActive)
    switching.isOn = true
    switching.stored = 1
    #expect(store.heard.count == 0)
    #expect(kvo.observe(switching, \.value) { try $0.hear($1, $2) }.outcome == .added)
  }

  /// Reads what can be observed while it is on, which cannot be observed itself.
  final class Switching: Observable {
    @Observed var stored = 0
    var isOn = true
    var value: Int { isOn ? stored : 0 }
  }

  /// Observes with each form what cannot be observed.
  ///
  /// - Returns: The lines where that was done.
  @MainActor @discardableResult private static func observeNothing() -> [Int] {
    let (store, bare, shared, stage) = (Store(), Bare(), SharedBare(), BareStage())
    let kvo = KVOController(owner: store)
    let made =
      ConfinedForm.allCases.map { $0.observe(kvo, store, bare, \.level) }
      + SharedForm.allCases.map { $0.observe(kvo, store, shared, \.level) }
    let line = #line + 1
    let changes = stage.changes(of: \.light)
    withExtendedLifetime(changes) {}
    return made.map(\.line) + [line]
  }

  @Test("Where nothing is observed, one line on standard error says where that is")
  @MainActor func written() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) { await FormsTests.observeNothing() }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let written = text.split(separator: "\n").filter { $0.contains("reads no property") }
    let lines = Self.observeNothing()
    #expect(written.count == lines.count)
    for line in lines {
      #expect(written.filter { $0.contains("\(Self.file):\(line): ") }.count == 1)
    }
    let sentence = "Bare reads no property that can be observed, so its observer is never called"
    #expect(written.filter { $0.hasSuffix(" of \(sentence)") }.count == ConfinedForm.allCases.count)
  }
}
