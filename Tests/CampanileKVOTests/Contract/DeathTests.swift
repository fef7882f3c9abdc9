import Campanile
import CampanileKVO
import Observation
import Testing

/// What dies, and who is told last: inside calls, in between their halves, in deinits.
@Suite("Deaths in the middle", .ownThread)
struct DeathTests {
  let log = Log()

  /// Keeps objects that somebody lets go of meanwhile.
  final class Keeper<Object: AnyObject> {
    var object: Object?
    init(_ object: Object) { self.object = object }
  }

  @Test(
    "K8 The owner that lets go of itself in a prior or initial call hears no more",
    arguments: [\.volume, \.display.count] as [any KeyPath<Radio, Int> & Sendable],
    [true, false])
  func ownerInCall(path: any KeyPath<Radio, Int> & Sendable, isPrior: Bool) {
    let keeper = Keeper(Log())
    weak let weakOwner = keeper.object
    let (radio, heard) = (Radio(), Recorder<String>())
    keeper.object?.kvo.observe(radio, path, options: isPrior ? .prior : .initial) {
      heard.record("\($2.phase)")
      keeper.object = nil
    }
    for volume in 1...2 { radio.volume = volume }
    #expect(heard.values == [isPrior ? "prior" : "initial"])
    #expect(weakOwner == nil)
  }

  @Test("K8 Of two owners the first lets go of the second, which is not called")
  func otherOwner() {
    let radio = Radio()
    let keeper = Keeper(Log())
    let heard = Recorder<String>()
    log.kvo.observe(radio, \.display) { log, _, _ in
      log.lines.append("first")
      keeper.object = nil
    }
    keeper.object?.kvo.observe(radio, \.volume) { _, _, _ in heard.record("second") }
    radio.volume = 1
    radio.volume = 2
    #expect(log.lines == ["first", "first"])
    #expect(heard.count == 0)
  }

  @Test(
    "K9 A path whose beginning is let go of in a call ends, also for observers that come later",
    arguments: [true, false])
  func rootInCall(isPrior: Bool) {
    let leaf = Radio()
    let keeper = Keeper(Radio())
    weak let weakRoot = keeper.object
    keeper.object?.next = leaf
    for number in 1...(isPrior ? 1 : 2) {
      log.kvo.observe(
        keeper.object!, \.next?.volume, options: isPrior ? [.prior, .old] : [], policy: .append
      ) { log, _, change in
        log.lines.append("\(number) \(change.phase)")
        keeper.object = nil
      }
    }
    for volume in 1...2 { leaf.volume = volume }
    #expect(log.lines == [isPrior ? "1 prior" : "1 changed"])
    #expect(weakRoot == nil)
    #expect(log.kvo.observationCount == 0)
  }

  @Test("K9 An object on the way that is let go of in a call is followed no more")
  func middleInCall() {
    let root = Radio()
    root.next = Radio()
    root.next?.next = Radio()
    weak let middle = root.next
    weak let leaf = root.next?.next
    log.kvo.observe(root, \.next?.next?.volume, options: .old) { log, root, change in
      log.lines.append("\((change.old ?? nil) ?? -1) -> \(change.new ?? -1)")
      if change.new == 1 { root.next = nil }
    }
    leaf?.volume = 1
    #expect(middle == nil && leaf == nil)
    #expect(log.lines == ["0 -> 1", "1 -> -1"])
    let next = Radio()
    next.next = Radio()
    root.next = next
    next.next?.volume = 2
    #expect(log.lines.dropFirst(2) == ["-1 -> 0", "0 -> 2"])
    withExtendedLifetime(root) {}
  }

  @Test("K9 The token of a path that is let go of in its prior call spares the change")
  func tokenInPrior() {
    final class Holder { var token: ObservationToken? }
    let holder = Holder()
    let radio = Radio()
    var phases: [KVOChange<String>.Phase] = []
    holder.token = radio.observe(\.display, options: [.prior, .old]) { _, change in
      phases.append(change.phase)
      holder.token = nil
    }
    radio.volume = 1
    #expect(phases == [.prior])
  }

  @Test("The controller that is let go of inside a call ends all of its observations")
  func controllerInCall() {
    let radio = Radio()
    let keeper = Keeper(KVOController(owner: log))
    weak let weakController = keeper.object
    keeper.object?.observe(radio, \.volume) { log, _, _ in
      log.lines.append("first")
      keeper.object = nil
    }
    keeper.object?.observe(radio, \.display) { log, _, _ in log.lines.append("second") }
    radio.volume = 1
    radio.volume = 2
    #expect(log.lines == ["first"])
    #expect(weakController == nil)
  }

  /// No observed property of a row is on the path to its seconds.
  final class Row: Observable {
    let settings: Track
    init(_ settings: Track) { self.settings = settings }
  }

  @Test(
    "K9 Observations of an object without an own property on the path end at a change",
    arguments: [false, true])
  func endAtNextChange(isOldAsked: Bool) {
    let (settings, count) = (Track("settings"), LiveCount())
    let tokens = (0..<3).map { _ in
      let mark = Tracked(count)
      let options: KVOChange<Int>.Options = isOldAsked ? .old : []
      return Row(settings).observe(\.settings.seconds, options: options) { _, _ in mark.touch() }
    }
    // Another evaluation of the same property, since several are told in another way than one.
    let others = [1, 2].map { _ in settings.observe(\.seconds) { _, _ in } }
    settings.seconds = 1
    #expect(tokens.allSatisfy { !$0.isActive } && count.current == 0)
    let last = Row(settings).observe(\.settings.title) { _, _ in }
    settings.title = "alone"
    #expect(!last.isActive)
    withExtendedLifetime(others) {}
  }

  // MARK: In deinits

  @Test("An object that observes itself along a path through its own parts is released")
  func throughOwnParts() {
    final class Model: Observable {
      let radio = Radio()
      let heard: Recorder<Int>
      lazy var kvo = KVOController(owner: self)
      init(_ heard: Recorder<Int>) {
        self.heard = heard
        kvo.observe(self, \.radio.volume) { own, _, change in own.heard.record(change.new) }
      }
    }
    let heard = Recorder<Int>()
    var model: Model? = Model(heard)
    weak let weakModel = model
    let radio = model?.radio
    radio?.volume = 42
    model = nil
    #expect(weakModel == nil)
    radio?.volume = 43
    #expect(heard.values == [42])
  }

  // MARK: On many threads

  @Test(
    "K9 Objects that die on their threads while others change what they share", arguments: [2, 8])
  func sharedEnd(width: Int) {
    final class Root: SharedObservable {
      private let registrar = KVORegistrar()
      private let end: Counter
      private let isGone: Flag
      init(_ end: Counter, _ isGone: Flag) {
        self.end = end
        self.isGone = isGone
      }
      deinit { isGone.set() }
      var sum: Int { end.count }
      var both: Int {
        registrar.access(self, keyPath: \.both)
        return end.count
      }
    }
    let counter = Counter()
    let live = LiveCount()
    let late = Recorder<Int>()
    onThreads(width) { _ in
      for _ in 0..<100 {
        let isGone = Flag()
        let probe = Tracked(live)
        var tokens: [ObservationToken] = []
        do {
          let root = Root(counter, isGone)
          for keyPath in [\Root.sum, \.both] as [any KeyPath<Root, Int> & Sendable] {
            tokens.append(
              root.observe(keyPath) { root, _ in
                probe.touch()
                if isGone.isSet { late.record(1) }
                withExtendedLifetime(root) {}
              })
          }
          counter.increment()
          withExtendedLifetime(root) {}
        }
        counter.increment()
        withExtendedLifetime(tokens) {}
      }
    }
    #expect(counter.count == width * 200)
    #expect(late.count == 0)
    #expect(live.current == 0)
  }
}

@Suite("Ends of sequences of changes", .ownThread)
@MainActor struct SequenceEndTests {
  @Test("K9 The sequence of an object without a property of its own on the path ends")
  func endOfSequence() async {
    let settings = Track("settings")
    var row: DeathTests.Row? = DeathTests.Row(settings)
    var changes = row!.changes(of: \.settings.seconds).values().makeAsyncIterator()
    settings.seconds = 1
    #expect(await changes.next()?.new == 1)
    row = nil
    settings.seconds = 2
    #expect(await changes.next() == nil)
  }
}
