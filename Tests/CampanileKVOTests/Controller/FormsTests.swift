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

  /// What an observation asks for.
  struct Wishes: OptionSet {
    let rawValue: Int
    static let initial = Self(rawValue: 1)
    static let prior = Self(rawValue: 2)
    static let old = Self(rawValue: 4)
    static let distinct = Self(rawValue: 8)
    static let once = Self(rawValue: 16)

    var options: KVOChange<Int>.Options {
      [
        contains(.initial) ? .initial : [], contains(.prior) ? .prior : [],
        contains(.old) ? .old : [], contains(.distinct) ? .distinct : [],
        contains(.once) ? .once : [],
      ]
    }

    /// Prior calls are not for objects that any thread may change.
    var sharedOptions: KVOChange<Int>.SharedOptions {
      [
        contains(.initial) ? .initial : [], contains(.old) ? .old : [],
        contains(.distinct) ? .distinct : [], contains(.once) ? .once : [],
      ]
    }
  }

  // MARK: Forms

  /// An observation, whichever form has made it.
  struct Made {
    /// What the controller says, where there is one.
    let outcome: KVOResult.Outcome?
    let registration: Registration
    private let token: ObservationToken?

    init(_ result: KVOResult) {
      (outcome, registration, token) = (result.outcome, result.registration, nil)
    }

    init(_ token: ObservationToken) {
      (outcome, registration, self.token) = (nil, token.registration, token)
    }

    init(_ registration: Registration) {
      (outcome, self.registration, token) = (nil, registration, nil)
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
      _ wishes: Wishes = [], policy: Policy = .ignore, line: UInt = #line,
      isolation: isolated (any Actor)? = #isolation
    ) -> Made {
      let options = wishes.options
      return switch self {
      case .controller:
        Made(
          kvo.observe(object, path, options: options, policy: policy, line: line) {
            try $0.hear($1, $2)
          })
      case .controllerOf:
        Made(
          kvo.observe(object, of: { $0[keyPath: path] }, options: options, line: line) {
            try $0.hear($1, $2)
          })
      case .general: Made(kvo.observe(object, path, options: options, policy: policy, line: line))
      case .object:
        Made(
          object.observe(path, options: options, line: line) { [weak store] in
            try store?.hear($0, $1)
          })
      case .objectOf:
        Made(
          object.observe(of: { $0[keyPath: path] }, options: options, line: line) {
            [weak store] in try store?.hear($0, $1)
          })
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
      _ path: any KeyPath<Object, Int> & Sendable, _ wishes: Wishes = [], policy: Policy = .ignore,
      line: UInt = #line
    ) -> Made {
      let read: @Sendable (Object) -> Int = { $0[keyPath: path as KeyPath<Object, Int>] }
      let options = wishes.sharedOptions
      let ofSource = wishes.subtracting(.once).sharedOptions
      let once: ObservationOptions<KeyPathChanges<Int>> = wishes.contains(.once) ? .once : []
      switch self {
      case .controller:
        return Made(
          kvo.observe(object, path, options: options, policy: policy, line: line) {
            try $0.hear($1, $2)
          })
      case .controllerOf:
        return Made(
          kvo.observe(object, of: read, options: options, line: line) { try $0.hear($1, $2) })
      case .general:
        return Made(kvo.observe(object, path, options: options, policy: policy, line: line))
      case .object:
        return Made(
          object.observe(path, options: options, line: line) { [weak store] in
            try store?.hear($0, $1)
          })
      case .objectOf:
        return Made(
          object.observe(of: read, options: options, line: line) { [weak store] in
            try store?.hear($0, $1)
          })
      case .changes:
        return Made(
          object.changes(of: path, options: ofSource, line: line).observe(options: once, line: line)
          {
            [weak store] in try store?.hear(nil, $0)
          })
      case .changesOfOwner:
        return Made(
          object.changes(of: path, options: ofSource, line: line).observe(
            owner: store!, options: once, line: line
          ) { try $0.hear(nil, $1) })
      }
    }
  }

  /// An object with a number, of the kind that a form is for.
  struct Subject {
    let object: AnyObject
    /// The path of its changes.
    let path: KVOPath
    private let make: (KVOController<Store>, Store?, Wishes, Policy, UInt) -> Made
    private let change: (Int) -> Void

    init<Object: Observable & AnyObject>(
      _ form: ConfinedForm, _ object: Object, _ path: KeyPath<Object, Int>
    ) {
      self.object = object
      self.path = form.hasKeyPath ? KVOPath(path) : KVOPath(\Object.self)
      make = { form.observe($0, $1, object, path, $2, policy: $3, line: $4) }
      change = { object[keyPath: path as! ReferenceWritableKeyPath<Object, Int>] = $0 }
    }

    init<Object: SharedObservable>(
      _ form: SharedForm, _ object: Object, _ path: any KeyPath<Object, Int> & Sendable
    ) {
      self.object = object
      self.path = form.hasKeyPath ? KVOPath(path) : KVOPath(\Object.self)
      make = { form.observe($0, $1, object, path, $2, policy: $3, line: $4) }
      change = { object[keyPath: path as! ReferenceWritableKeyPath<Object, Int>] = $0 }
    }

    func observe(
      _ kvo: KVOController<Store>, _ store: Store?, _ wishes: Wishes = [],
      policy: Policy = .ignore, line: UInt = #line
    ) -> Made { make(kvo, store, wishes, policy, line) }

    func set(_ values: Int...) { for value in values { change(value) } }
  }

  /// A form for either kind of object.
  enum Form: CaseIterable {
    case confined(ConfinedForm)
    case shared(SharedForm)

    static let allCases = ConfinedForm.allCases.map(confined) + SharedForm.allCases.map(shared)
    static let ofController = allCases.filter(\.isOfController)
    static let ofOwner = ofController + [.shared(.changesOfOwner)]

    private func ask<Result>(
      _ confined: (ConfinedForm) -> Result, _ shared: (SharedForm) -> Result
    ) -> Result {
      switch self {
      case .confined(let form): confined(form)
      case .shared(let form): shared(form)
      }
    }

    var isConfined: Bool { ask({ _ in true }, { _ in false }) }
    var isOfController: Bool { ask(\.isOfController, \.isOfController) }
    var hasKeyPath: Bool { ask(\.hasKeyPath, \.hasKeyPath) }
    var isOfToken: Bool { ask(\.isOfToken, \.isOfToken) }
    var isOfSource: Bool { ask({ _ in false }, \.isOfSource) }

    func number() -> Subject {
      ask({ Subject($0, Radio(), \.volume) }, { Subject($0, Counter(), \.count) })
    }
    func bare() -> Subject {
      ask({ Subject($0, Bare(), \.level) }, { Subject($0, SharedBare(), \.level) })
    }
    func constants() -> Subject {
      ask({ Subject($0, Constants(), \.two) }, { Subject($0, SharedConstants(), \.two) })
    }
  }

  let store = Store()
  let counter = Counter()
  let kvo: KVOController<Store>

  init() { kvo = KVOController(owner: store) }

  // MARK: What is handed over, and when

  @Test(
    "Each form hands over the object and the change, as its options have it",
    arguments: Form.allCases)
  func all(form: Form) {
    let subject = form.number()
    let made = subject.observe(kvo, store, [.initial, .prior, .old, .distinct])
    #expect(made.outcome == (form.isOfController ? .added : nil))
    subject.set(1, 1, 2)
    let calls = [
      "initial - 0", "prior 0 0", "changed 0 1", "prior 1 1", "prior 1 1", "changed 1 2",
    ].filter { form.isConfined || !$0.hasPrefix("prior") }
    #expect(store.heard.values == calls)
    #expect(store.paths.values == calls.map { _ in subject.path })
    let changed = form.isConfined ? KVOPath(\Radio.volume) : KVOPath(\Counter.count)
    #expect(store.changedPaths.values == [[]] + calls.dropFirst().map { _ in [changed] })
    let object = ObjectIdentifier(subject.object)
    #expect(store.objects.values == (form.isOfSource ? [] : calls.map { _ in object }))
    #expect(made.isActive)
    #expect(kvo.observationCount == (form.isOfController ? 1 : 0))
  }

  @Test("Each form ends with its first call if asked to", arguments: Form.allCases)
  func once(form: Form) {
    let subject = form.number()
    let made = subject.observe(kvo, store, [.old, .once])
    #expect(made.isActive)
    subject.set(1, 2)
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

  @Test(
    "F1 Each form of a controller honors its policy, and says what it did; of a closure, each call makes one",
    arguments: Form.ofController, [Policy.ignore, .replace, .append])
  func policy(form: Form, policy: Policy) {
    let subject = form.number()
    let first = subject.observe(kvo, store)
    let second = subject.observe(kvo, store, .initial, policy: policy)
    let policy = form.hasKeyPath ? policy : .append
    #expect(first.outcome == .added)
    #expect(second.outcome == (policy == .ignore ? .alreadyObserved : .added))
    #expect((second.registration == first.registration) == (policy == .ignore))
    #expect(first.isActive == (policy != .replace))
    #expect(second.isActive)
    let count = policy == .append ? 2 : 1
    #expect(kvo.observationCount == count)
    // Whoever is not added makes no initial call.
    #expect(store.heard.values == (policy == .ignore ? [] : ["initial - 0"]))
    subject.set(1)
    #expect(store.heard.values.filter { $0 == "changed - 1" }.count == count)
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

  @Test("The description of a controller has the place of each form", arguments: Form.ofController)
  func description(form: Form) {
    let subject = form.number()
    _ = subject.observe(kvo, store, [.old, .distinct], line: 7)
    let lines = kvo.description.split(separator: "\n")
    #expect(lines.count == 2)
    let name = "\(type(of: subject.object)) \(subject.path)"
    #expect(lines[1] == "  \(name) [old, distinct] (\(Self.file):7)")
  }

  @Test(
    "What an observer throws goes to the controller's handler, with the place of the form",
    arguments: Form.ofController)
  func failure(form: Form) {
    let subject = form.number()
    let failures = Recorder<ObserverFailure>()
    let kvo = KVOController(owner: store, onError: { failures.record($0) })
    store.throwing.set()
    let made = subject.observe(kvo, store, .initial, line: 7)
    subject.set(1)
    #expect(failures.count == 2)
    #expect(failures.values.allSatisfy { $0.error is TestFailure })
    #expect(failures.values.allSatisfy { $0.file == Self.file && $0.line == 7 })
    #expect(made.isActive)
    withExtendedLifetime(kvo) {}
  }

  @Test("What an observer throws that nobody handles is written, with the place of each form")
  func writtenFailures() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let store = Store()
      let kvo = KVOController(owner: store)
      store.throwing.set()
      for (line, form) in Form.allCases.enumerated() {
        let subject = form.number()
        let made = subject.observe(kvo, store, line: UInt(line) + 1)
        subject.set(1)
        withExtendedLifetime(made) {}
      }
    }
    Self.expectOnce(result, "threw TestFailure()") { ":\($0) threw" }
  }

  /// Expects one line of each form on standard error, and no others that contain `text`.
  private static func expectOnce(
    _ result: ExitTest.Result?, _ text: String, _ place: (Int) -> String
  ) {
    let all = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let written = all.split(separator: "\n").filter { $0.contains(text) }
    #expect(written.count == Form.allCases.count)
    for line in 1...Form.allCases.count {
      #expect(written.count { $0.contains(file + place(line)) } == 1)
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

  @Test(
    "K11 K12 What the main actor or any thread changes is told at a place, once, from a bounded buffer",
    arguments: [true, false])
  @MainActor func atPlace(isMain: Bool) async {
    let (stage, manual) = (Stage(), ManualTarget())
    let changes =
      isMain
      ? stage.changes(of: \.light, options: .old) : counter.changes(of: \.count, options: .old)
    let tokens = [
      changes.observe(on: manual.delivery.ordered.buffered(.oldest(1)), options: .once) {
        [store] in
        try store.hear(nil, $0)
      },
      changes.observe(on: .main(buffering: .oldest(1), ordered: true), options: .once) { [store] in
        try store.hear(nil, $0)
      },
    ]
    let registrations =
      tokens.map(\.registration) + [
        changes.observe(
          owner: store, on: manual.delivery.ordered.buffered(.oldest(1)), options: .once
        ) { try $0.hear(nil, $1) },
        changes.observe(
          owner: store, on: .main(buffering: .oldest(1), ordered: true), options: .once
        ) {
          try $0.hear(nil, $1)
        },
      ]
    for value in 1...2 { (stage.light, counter.count) = (value, value) }
    #expect(store.heard.values.isEmpty)
    #expect(registrations.map(\.droppedCount) == registrations.map { _ in 1 })
    manual.runAll()
    #expect(store.heard.values == ["changed 0 1", "changed 0 1"])
    await drainMain()
    #expect(store.heard.values == registrations.map { _ in "changed 0 1" })
    #expect(registrations.allSatisfy { !$0.isActive })
    withExtendedLifetime((tokens, stage)) {}
  }

  // MARK: Ends

  @Test(
    "K9 Each form keeps neither object nor owner, and ends with the object",
    arguments: Form.allCases)
  func objectDies(form: Form) {
    var subject: Subject? = form.number()
    weak let object = subject?.object
    let made = subject!.observe(kvo, store, [.initial, .old])
    subject?.set(1)
    subject = nil
    #expect(object == nil)
    #expect(!made.isActive)
    #expect(kvo.observationCount == 0)
  }

  @Test(
    "K8 Each form that has an owner ends with it, and is refused by its controller from then on",
    arguments: Form.ofOwner)
  func ownerDies(form: Form) {
    let subject = form.number()
    var store: Store? = Store()
    weak let weakStore = store
    let heard = store!.heard
    let kvo = KVOController(owner: store!)
    let made = subject.observe(kvo, store)
    subject.set(1)
    store = nil
    #expect(weakStore == nil)
    #expect(kvo.observationCount == 0)
    subject.set(2)
    #expect(heard.values == ["changed - 1"])
    #expect(!made.isActive)
    if !form.isOfController { return }
    let refused = subject.observe(kvo, nil, .initial, policy: .append)
    subject.set(3)
    #expect(refused.outcome == .refused)
    #expect(!refused.isActive)
    #expect(heard.count == 1)
  }

  /// The ways to end an observation before what it needs has gone.
  enum End: CaseIterable { case controller, release, cancel, unobserve, unobserveAll }

  @Test(
    "Each form ends with its controller or its token, whichever it has, or by being ended",
    arguments: Form.allCases, End.allCases)
  func ends(form: Form, end: End) {
    let subject = form.number()
    var kvo: KVOController<Store>? = KVOController(owner: store)
    var made: Made? = subject.observe(kvo!, store)
    subject.set(1)
    var isEnded = form.isOfController
    switch end {
    case .controller: kvo = nil
    case .unobserve: kvo?.unobserve(subject.object)
    case .unobserveAll: kvo?.unobserveAll()
    case .release:
      made = nil
      isEnded = form.isOfToken
    case .cancel:
      made?.cancel()
      isEnded = true
    }
    subject.set(2)
    #expect(store.heard.values == ["changed - 1"] + (isEnded ? [] : ["changed - 2"]))
    if let made { #expect(made.isActive == !isEnded) }
    if let kvo { #expect(kvo.observationCount == (form.isOfController && !isEnded ? 1 : 0)) }
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

  @Test(
    "A class without a registrar, and a computed property of constants, are not observed by any form",
    arguments: Form.allCases, [true, false])
  func nothing(form: Form, isBare: Bool) {
    let subject = isBare ? form.bare() : form.constants()
    // A source has finished. There is nothing in the way of another try.
    for wishes in [.initial, []] as [Wishes] {
      let made = subject.observe(kvo, store, wishes)
      if isBare { subject.set(1) }
      #expect(made.outcome == (form.isOfController ? .nothingObserved : nil))
      #expect(!made.isActive)
      #expect(store.heard.values == (form.isOfSource ? [] : ["initial - \(isBare ? 0 : 2)"]))
      #expect(kvo.observationCount == 0)
    }
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

  @Test("Where nothing is observed, one line on standard error says where that is")
  func written() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let store = Store()
      let kvo = KVOController(owner: store)
      for (line, form) in Form.allCases.enumerated() {
        _ = form.bare().observe(kvo, store, line: UInt(line) + 1)
      }
    }
    let sentence = "reads no property that can be observed, so its observer is never called"
    Self.expectOnce(result, sentence) { ":\($0): " }
  }
}
