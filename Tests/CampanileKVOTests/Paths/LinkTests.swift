import Campanile
import Dispatch
import Observation
import TestSupport
import Testing

@testable import CampanileKVO

@Suite("Links to properties")
struct LinkTests {
  private let event = ObservedProperty.Event(maker: .current, edit: nil)

  // Broken by: ChangeKeeper.begin and end, if they take in what a link says after its end.
  @Test("What a thread still says over a link that has ended is ignored")
  func lateCalls() {
    let radio = Radio()
    let subject = ObservedProperty.Subject(ObjectIdentifier(radio))
    let property = ObservedProperty(\Radio.volume, of: subject)
    let old = Link(property)
    old.end()
    #expect(old.hasEnded)
    let new = Link(property)
    #expect(!new.hasEnded)

    var keeper = ChangeKeeper()
    _ = keeper.forget([ObjectIdentifier(old)])

    // By a thread that was called before the link ended.
    let thread = SourceRegistry.currentThread
    var beginning = keeper.begin(event, old, on: thread)
    #expect(beginning == .known && !keeper.isBusy)
    beginning = keeper.begin(event, new, on: thread)
    #expect(beginning == .new)
    beginning = keeper.begin(event, old, on: thread)
    #expect(beginning == .known)
    var report = keeper.endAndTell(event, over: new, on: thread)
    #expect(report != nil)
    report = keeper.nextReport()
    #expect(report == nil && !keeper.isBusy)
    report = keeper.end(event, over: old)
    #expect(report == nil)
    withExtendedLifetime(radio) {}
  }

  // Broken by: Evaluation.close, if it ends no link.
  @Test("K16 A property forgets the evaluation of a key path with its last observer")
  func lastObserver() {
    let radio = Radio()
    let collector = ReadCollector()
    collector.collect { _ = radio.volume }
    let property = collector.take()[0].property
    let tokens = (0..<3).map { _ in radio.observe(\.display) { _, _ in } }
    for (index, token) in tokens.enumerated() {
      #expect(property.currentFollowers.count == 1, "\(index) have gone")
      token.cancel()
    }
    #expect(property.currentFollowers.isEmpty)
  }

  // Broken by: Evaluation.close, if it ends the evaluation of one property, or the property, if it keeps it.
  @Test("K16 The evaluation of one property waits for another observer until the property changes")
  func unusedEvaluation() {
    let radio = Radio()
    let collector = ReadCollector()
    collector.collect { _ = radio.volume }
    let property = collector.take()[0].property
    var heard: [Int] = []
    for round in 0..<1_000 {
      radio.observe(\.volume) { heard.append(round + $1.new) }.cancel()
      #expect(property.currentFollowers.count == 1)
    }
    weak let evaluation = property.currentFollowers[0].evaluation
    let token = radio.observe(\.volume) { heard.append($1.new) }
    #expect(property.currentFollowers.map(\.evaluation).first === evaluation)
    radio.volume = 1
    #expect(heard == [1] && property.currentFollowers.count == 1)
    token.cancel()
    #expect(evaluation != nil)
    radio.volume = 2
    #expect(property.currentFollowers.isEmpty && evaluation == nil)
    let late = radio.observe(\.volume) { heard.append($1.new) }
    radio.volume = 3
    #expect(heard == [1, 3])
    withExtendedLifetime(late) {}
  }

  @Test("K16 An evaluation that waits for another observer ends with the object")
  func unusedEvaluationOfTheDead() {
    final class Mark: Sendable {}
    var (radio, mark): (Radio?, Mark?) = (Radio(), Mark())
    weak let weakMark = mark
    let kvo = KVOController(owner: radio!)
    kvo.observe(radio!, \.volume) { [mark] _, _, _ in withExtendedLifetime(mark) {} }
    kvo.unobserveAll()
    mark = nil
    #expect(weakMark == nil)
    let collector = ReadCollector()
    collector.collect { _ = radio?.volume }
    let property = collector.take()[0].property
    weak let evaluation = property.currentFollowers[0].evaluation
    #expect(evaluation != nil)
    radio = nil
    #expect(property.currentFollowers.isEmpty && evaluation == nil)
  }

  /// A property for each argument, behind a lock.
  private final class Shelf: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked<[Int: Int]>([:])

    subscript(number: Int) -> Int {
      registrar.value(of: self, \.[number]) { read in state.withLock { read($0[number] ?? 0) } }
    }
    func increment(_ number: Int) {
      registrar.change(
        of: self, \.[number],
        under: { change in state.withLock { change(&$0[number, default: 0]) } }, { $0 += 1 })
    }
    func announce(_ number: Int, _ change: () -> Void) {
      registrar.willChange(self, keyPath: \.[number])
      change()
      registrar.didChange(self, keyPath: \.[number])
    }

    func property(_ number: Int) -> ObservedProperty {
      let collector = ReadCollector()
      collector.collect { _ = self[number] }
      return collector.take()[0].property
    }
    /// Observes as many properties as an object keeps.
    func fill() -> [ObservationToken] { (0..<64).map { observe(\.[$0]) { _, _ in } } }
  }

  // Broken by: Evaluation.close, if it keeps all that is direct.
  @Test("K16 Of properties with arguments that nobody observes any more, an object keeps a few")
  func argumentsLeft() {
    struct Weak { weak var property: ObservedProperty? }
    let shelf = Shelf()
    var properties: [Weak] = []
    for number in 0..<1_000 {
      let tokens = [
        shelf.observe(\.[number]) { _, _ in }, shelf.observe(of: { $0[number] }) { _, _ in },
      ]
      properties.append(Weak(property: shelf.property(number)))
      shelf.increment(number)
      #expect(properties[number].property != nil)
      for token in tokens { token.cancel() }
    }
    #expect(properties.count { $0.property != nil } == 64)
    withExtendedLifetime(shelf) {}
  }

  @Test("A property with arguments that has left is observed anew, and told")
  func argumentsAgain() {
    let shelf = Shelf()
    let tokens = shelf.fill()
    let heard = Recorder<Int>()
    for round in 1...3 {
      let first = shelf.property(100)
      let token = shelf.observe(\.[100]) { heard.record($1.new) }
      #expect(shelf.property(100) === first && !first.isRetired)
      shelf.increment(100)
      token.cancel()
      #expect(heard.count == round && first.isRetired)
    }
    withExtendedLifetime(tokens) {}
  }

  // Broken by: ObservedProperty.retire, if it does not look for changes that are in progress.
  @Test("A property with arguments stays until the change in which its observer left has ended")
  func argumentsInChange() {
    let shelf = Shelf()
    let tokens = shelf.fill()
    let heard = Recorder<Int>()
    let first = shelf.property(100)
    let token = shelf.observe(\.[100]) { _, _ in }
    var late: ObservationToken?
    shelf.announce(100) {
      token.cancel()
      #expect(!first.isRetired)
      late = shelf.observe(\.[100], .initial) { heard.record($1.new) }
      shelf.increment(100)
    }
    #expect(heard.values == [0, 1])
    late = nil
    let other = shelf.observe(\.[100]) { _, _ in }
    let second = shelf.property(100)
    shelf.announce(100) { other.cancel() }
    #expect(second.isRetired)
    withExtendedLifetime((tokens, late)) {}
  }

  // Broken by: KVORegistrar.tryChange, if it changes a property that is retired.
  @Test(
    "K14 While others come and go, an observer is told each change of an argument",
    arguments: [2, 8], [5, 100])
  func argumentsOnThreads(width: Int, number: Int) {
    let shelf = Shelf()
    let tokens = shelf.fill()
    let rounds = Effort.times(500, long: 5_000)
    let gaps = Recorder<[Int]>()
    onThreads(width) { _ in
      for round in 0..<rounds where gaps.count == 0 {
        let (heard, told) = (Recorder<Int>(), DispatchSemaphore(value: 0))
        let token = shelf.observe(\.[number], .initial) {
          heard.record($1.new)
          told.signal()
        }
        shelf.increment(number)
        // Another thread may tell it, a little later. Every second observer goes before that.
        let isTold = (0..<(round % 2 == 0 ? 2 : 0)).allSatisfy { _ in
          told.wait(timeout: .now() + 300) == .success
        }
        token.cancel()
        let values = heard.values
        if !isTold || values != Array(values[0]..<values[0] + values.count) {
          gaps.record(values)
        }
      }
    }
    #expect(gaps.values == [])
    #expect(shelf[number] == width * rounds)
    withExtendedLifetime(tokens) {}
  }

  // Broken by: EvaluationState.note, if the last call counts.
  @Test("A change that began before the newest observer came is checked, whoever says so last")
  func newestComer() {
    let state = EvaluationState()
    state.note(7)
    state.note(3)
    state.tell(5, 5)
    #expect(state.word != EvaluationState.always)
    state.tell(8, 8)
    #expect(state.word == EvaluationState.always)
  }

  // Broken by: ObserverSeat.isOpen, if it does not look at the change.
  @Test(
    "A change made for an observer that has ended is checked for the others",
    arguments: [ObserverWishes.old, []])
  func changeForTheGone(wishes: ObserverWishes) {
    let radio = Radio()
    let request = KVORequest(\Radio.volume, KVOChange<Int>.Options(), #fileID, #line)
    let evaluation = KeyPathEvaluation<Radio, Int, KVOChange<Int>>(request, radio) { $0.volume }
    _ = evaluation.open()
    let seat = ObserverSeat(evaluation, wishes, comparing: nil)
    seat.start(at: evaluation)
    evaluation.state.tell(1, 1)
    func isOpen(_ step: ChangeStep, hasOld: Bool) -> Bool {
      seat.isOpen(
        for: KVOChange(
          step, nil, old: 0, new: 1, hasOld: hasOld, path: request.path, changed: nil))
    }
    #expect(isOpen(.changed, hasOld: false))
    #expect(isOpen(.changed, hasOld: true) == wishes.contains(.old))
    #expect(!isOpen(.prior, hasOld: true))
  }

  // Broken by: ReadCollector.contains, if it does not look among the reads that were expected.
  @Test("Of many properties that are read twice, each is collected once, also when read again")
  func readsAgain() {
    let radios = (0..<20).map { _ in Radio() }
    let collector = ReadCollector()
    for _ in 0..<2 {
      collector.collect { for radio in radios { _ = radio.volume + radio.volume } }
      #expect(collector.take().count == 20)
    }
    let new = collector.takeNew()
    #expect(new == nil)
  }

  // Broken by: Evaluation.follow, if it does not look again.
  @Test("A change between the reading of a property and the following of it is told")
  func changedBeforeFollowed() {
    let device = Toggle(isOn: false)
    let heard = Recorder<Int>()
    let token = device.observe(\.shown) { heard.record($1.new) }
    device.hasRead.set { [device] in
      device.hasRead.set(nil)
      onThread { device.setValue(5) }()
    }
    device.isOn = true
    #expect(heard.values.last == 5)
    withExtendedLifetime(token) {}
  }

  // Broken by: KeyPathEvaluation.find, if it finds an evaluation that follows other properties.
  @Test(
    "K1 An observer is told of the properties that it has read, though another follows fewer yet",
    arguments: [false, true])
  func followsFewer(isObserved: Bool) {
    let device = Toggle(isOn: false)
    let first = isObserved ? device.observe(\.shown) { _, _ in } : nil
    let heard = Recorder<Int>()
    let tokens = TokenBag()
    device.set(isOn: true) {
      tokens.insert(device.observe(\.shown) { heard.record($1.new) })
      device.setValue(5)
      #expect(heard.values == [5])
    }
    device.setValue(6)
    #expect(heard.values.last == 6)
    withExtendedLifetime(first) {}
  }

  // Broken by: KeyPathEvaluation.find, if it finds an evaluation that does not follow all yet.
  @Test("K1 An observer that comes while the first one begins is told of a change right after it")
  func comesWhileTheFirstBegins() {
    let device = Toggle(isOn: true)
    let heard = Recorder<Int>()
    let tokens = TokenBag()
    let path = \Toggle.shown
    let collector = ReadCollector()
    _ = collector.collect { device.shown }
    let reads = collector.take()
    // The evaluation that another thread has made, when it follows the first property only.
    let evaluation = KeyPathEvaluation<Toggle, Int, KVOChange<Int>>(
      KVORequest(path, KVOChange<Int>.Options(), isForAnyThread: true, #fileID, #line), device
    ) { $0.shown }
    let link = Link(reads[0].property)
    reads[0].property.add(link, evaluation)
    tokens.insert(device.observe(path) { heard.record($1.new) })
    device.setValue(5)
    #expect(heard.values == [5])
    link.end()
  }
}
