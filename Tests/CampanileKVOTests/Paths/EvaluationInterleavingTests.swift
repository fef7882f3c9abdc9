import Campanile
@testable import CampanileKVO
import Observation
import TestSupport
import Testing

/// Observers that come, go and make changes while an evaluation that they share is at work.
@Suite("Interleavings of a shared evaluation")
struct EvaluationInterleavingTests {
  final class Owner {
    var lines: [String] = []
    lazy var kvo = KVOController(owner: self)
  }

  final class Store: Observable {
    @Observed var items = [1, 2]
    @Observed var number = 0
    var both: Int { items.count + number }
  }

  /// A class that hands its values over.
  final class Meter: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked(0)
    /// Called before the value is read.
    let willRead = Slot<@Sendable () -> Void>()
    var count: Int {
      get {
        willRead.value?()
        return registrar.value(of: self, \.count) { read in state.withLock { read($0) } }
      }
      set {
        registrar.change(of: self, \.count, under: { change in state.withLock { change(&$0) } }) {
          $0 = newValue
        }
      }
    }
  }

  let radio = Radio()
  let owner = Owner()

  // Broken by: ReadCollector.takeExpected, if it does not look whether the object has died.
  @Test("An object that comes to the address of one that has died is followed")
  func sameAddress() {
    let player = Player()
    var heard: [String] = []
    let token = player.observe(\.follower?.title) { _, change in heard.append(change.new ?? "-") }
    for number in 0..<100 {
      var track: Track? = Track("A")
      player.follower = track
      // Dies, and nobody is told.
      track = nil
      track = Track("B")
      player.follower = track
      track?.title = "\(number)"
      #expect(heard.last == "\(number)")
    }
    withExtendedLifetime(token) {}
  }

  // Broken by: Evaluation.isInsidePlainChange, if it is always false.
  @Test("A transaction inside a change in place is told when that has ended")
  func transactionInside() {
    let store = Store()
    var heard: [Int] = []
    let token = store.observe(\.both) { _, change in heard.append(change.new) }
    store.items.removeAll { _ in
      KVOTransaction.perform { store.number += 1 }
      return false
    }
    #expect(heard.last == 4)
    #expect(heard.count == 1)
    store.number = 5
    #expect(heard == [4, 7])
    withExtendedLifetime(token) {}
  }

  // Broken by: Evaluation.tellMerged, if it leaves those alone who have nobody to call.
  @Test("A path is followed anew also if the only observer left and others come in the same change")
  func leftAndCome() {
    let (root, first, second) = (Radio(), Radio(), Radio())
    root.next = first
    var heard: [Int?] = []
    var detail: ObservationToken?
    var kept: [ObservationToken] = []
    let parent = root.observe(\.next) { root, _ in
      let one = root.observe(\.next?.volume) { _, change in heard.append(change.new) }
      detail = nil
      kept = [one, root.observe(\.next?.volume) { _, change in heard.append(change.new) }]
    }
    detail = root.observe(\.next?.volume) { _, _ in }
    root.next = second
    heard = []
    second.volume = 7
    #expect(heard == [7, 7])
    withExtendedLifetime((parent, detail, kept)) {}
  }

  // Broken by: KeyPathEvaluation.begin, if it does not read again.
  @Test("The first value has what the release of a replaced observer changes")
  func changedByRelease() {
    final class Reset {
      let radio: Radio
      init(_ radio: Radio) { self.radio = radio }
      deinit { radio.volume = 9 }
    }
    do {
      let reset = Reset(radio)
      owner.kvo.observe(radio, \.display) { _, _, _ in withExtendedLifetime(reset) {} }
    }
    owner.kvo.observe(radio, \.display, .initial, policy: .replace) { owner, _, change in
      owner.lines.append(change.new)
    }
    #expect(owner.lines.last == radio.display && radio.volume == 9)
  }

  // Broken by: ChangeKeeper.tell, if it does not look what is being told.
  @Test("K14 A transaction by an observer of values that are handed over waits for those after it")
  func transactionByObserver() {
    let meter = Meter()
    let steps = Recorder<[Int]>()
    let first = meter.observe(\.count) { meter, change in
      if change.new == 1 { KVOTransaction.perform { meter.count = 2 } }
    }
    let second = meter.observe(\.count, .old) { steps.record([$1.old ?? -1, $1.new]) }
    meter.count = 1
    #expect(steps.values == [[0, 1], [1, 2]])
    withExtendedLifetime((first, second)) {}
  }

  // Broken by: ObserverSeat.admit, if it looks at no number.
  @Test("K14 An observer is not told a change that was stored before it came and still waits")
  func storedBefore() {
    let meter = Meter()
    let gate = Gate()
    let holder = meter.observe(\.count) { _, change in if change.new == 1 { gate.pass() } }
    let end = onThread { meter.count = 1 }
    gate.waitUntilReached()
    // Left for the thread that is held.
    meter.count = 2
    let heard = Recorder<Int>()
    let late = meter.observe(\.count) { heard.record($1.new) }
    meter.count = 3
    gate.open()
    end()
    #expect(heard.values == [3])
    withExtendedLifetime((holder, late)) {}
  }

  // Broken by: Transaction.close, if it has one evaluation after the other tell.
  @Test("K5 At the end of a transaction too, observers of several paths are called in their order")
  func orderInTransaction() {
    owner.kvo.observe(radio, \.display) { owner, _, _ in owner.lines.append("display 1") }
    owner.kvo.observe(radio, \.volume) { owner, _, _ in owner.lines.append("volume") }
    owner.kvo.observe(radio, \.display, policy: .append) { owner, _, _ in
      owner.lines.append("display 2")
    }
    KVOTransaction.perform { radio.volume = 1 }
    #expect(owner.lines == ["display 1", "volume", "display 2"])
  }

  // Broken by: Evaluation.goOn, if it does not say which change goes on.
  @Test("A change that was announced before does not hide the one in which it ends")
  func endedInCall() {
    final class Pair: Observable {
      let registrar = KVORegistrar()
      private var values = [0, 0]
      var first: Int {
        get {
          registrar.access(self, keyPath: \.first)
          return values[0]
        }
        set { registrar.withMutation(of: self, keyPath: \.first) { values[0] = newValue } }
      }
      var second: Int {
        get {
          registrar.access(self, keyPath: \.second)
          return values[1]
        }
        set { registrar.withMutation(of: self, keyPath: \.second) { values[1] = newValue } }
      }
      var sum: Int { first + second }
    }
    let pair = Pair()
    pair.registrar.willChange(pair, keyPath: \.first)
    var heard: [Int] = []
    let tokens = [
      pair.observe(\.sum) { pair, _ in pair.registrar.didChange(pair, keyPath: \.first) },
      pair.observe(\.sum) { _, change in heard.append(change.new) },
    ]
    pair.second = 1
    #expect(heard.last == 1)
    withExtendedLifetime(tokens) {}
  }

  // Broken by: Evaluation.claimAtHome, if it keeps what was known before a change that it drops.
  @Test("A transaction inside another change of the property leaves nothing to compare with")
  func droppedAndCompared() {
    final class Box: Observable {
      let registrar = KVORegistrar()
      private var value = 0
      var number: Int {
        get {
          registrar.access(self, keyPath: \.number)
          return value
        }
        set { registrar.withMutation(of: self, keyPath: \.number) { value = newValue } }
      }
      func bump() {
        registrar.withMutation(of: self, keyPath: \.number) {
          KVOTransaction.perform { number += 1 }
        }
      }
    }
    let box = Box()
    var steps: [[Int]] = []
    let old = box.observe(\.number, .old) { _, change in
      steps.append([change.old ?? -1, change.new])
    }
    box.bump()
    #expect(steps == [[0, 1]])
    var heard: [Int] = []
    let distinct = box.observe(\.number, .distinct) { _, change in heard.append(change.new) }
    box.number = 0
    #expect(heard == [0])
    withExtendedLifetime((old, distinct)) {}
  }

  // Broken by: Evaluation.goOn, if it forgets what was told only while somebody compares.
  @Test("K16 A value is not kept for an observer that compared, and went in its call")
  func comparedAndGone() {
    final class Content: Equatable {
      static func == (one: Content, other: Content) -> Bool { one === other }
    }
    final class Box: Observable { @Observed var content: Content? }
    let box = Box()
    let plain = box.observe(\.content) { _, _ in }
    let once = box.observe(\.content, [.distinct, .once]) { _, _ in }
    var content: Content? = Content()
    weak let weakContent = content
    box.content = content
    content = nil
    box.content = nil
    #expect(weakContent == nil)
    withExtendedLifetime((plain, once)) {}
  }

  // Broken by: ChangeKeeper.forgetKnown, if it keeps what observers joined at.
  @Test("K16 The value that an observer joined at is not kept once no change is in progress")
  func joinedAt() {
    final class Content: Equatable {
      static func == (one: Content, other: Content) -> Bool { one === other }
    }
    final class Box: Observable { @Observed var content: Content? }
    let box = Box()
    var content: Content? = Content()
    weak let weakContent = content
    box.content = content
    content = nil
    var joined: [ObservationToken] = []
    let prior = box.observe(\.content, .prior) { box, change in
      guard change.phase == .prior, joined.isEmpty else { return }
      joined = [
        box.observe(\.content, .distinct) { _, _ in },
        box.observe(\.content, [.initial, .distinct]) { _, _ in },
      ]
    }
    box.content = nil
    #expect(joined.count == 2)
    #expect(weakContent == nil)
    withExtendedLifetime((prior, joined)) {}
  }
}

/// Other threads at a path that the main actor reads.
@Suite("Interleavings of a main-actor evaluation")
struct MainActorEvaluationTests {
  final class Gauge: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked(0)
    let willRead = Slot<@Sendable () -> Void>()
    var value: Int {
      get {
        registrar.access(self, keyPath: \.value)
        defer { willRead.value?() }
        return state.withLock { $0 }
      }
      set {
        registrar.withMutation(of: self, keyPath: \.value) {
          state.withLock { $0 = newValue }
        }
      }
    }
  }
  @MainActor @Observable final class Panel {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    let gauge = Gauge()
    var offset = 0
    var shown: Int { offset + gauge.value }
  }

  // Broken by: Evaluation.isReading, if every thread counts as the one that reads.
  @Test("What another thread changes while the main actor reads the path is told")
  @MainActor func changeWhileRead() async {
    let panel = Panel()
    let heard = Recorder<Int>()
    let token = panel.observe(\.shown) { heard.record($1.new) }
    panel.gauge.willRead.set { [gauge = panel.gauge] in
      gauge.willRead.set(nil)
      onThread { gauge.value = 5 }()
    }
    panel.offset = 10
    await drainMain()
    #expect(heard.values == [10, 15])
    withExtendedLifetime(token) {}
  }
}
