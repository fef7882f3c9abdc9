import Campanile
import CampanileKVO
import Dispatch
import Observation
import Testing

/// Options with options, policies with options, observers beside each other.
@Suite("Combinations", .ownThread)
struct CombinationTests {
  let log = Log()
  let radio = Radio()

  // MARK: Options

  /// One choice of options, and what they make of sets of 0 to 0, 1, 1 again and 2.
  struct Choice: CustomTestStringConvertible {
    let isInitial, isPrior, wantsOld, isDistinct, isOnce: Bool

    init(_ bits: Int) {
      isInitial = bits & 1 != 0
      isPrior = bits & 2 != 0
      wantsOld = bits & 4 != 0
      isDistinct = bits & 8 != 0
      isOnce = bits & 16 != 0
    }

    var options: KVOChange<Int>.Options {
      [
        isInitial ? .initial : [], isPrior ? .prior : [], wantsOld ? .old : [],
        isDistinct ? .distinct : [], isOnce ? .once : [],
      ]
    }

    /// Those of a source, whose observers ask for `.once` themselves.
    var sourceOptions: KVOChange<Int>.SharedOptions {
      [isInitial ? .initial : [], wantsOld ? .old : [], isDistinct ? .distinct : []]
    }

    var expected: [String] {
      var lines = isInitial ? ["initial - 0"] : []
      for (old, new) in [(0, 0), (0, 1), (1, 1), (1, 2)] {
        let before = wantsOld ? "\(old)" : "-"
        if isPrior { lines.append("prior \(before) \(old)") }
        if !isDistinct || old != new { lines.append("changed \(before) \(new)") }
      }
      return isOnce ? Array(lines.prefix(1)) : lines
    }

    var testDescription: String { "\(options)" }
  }

  /// Where the value is: a stored property, one that is made of it, the end of a longer path.
  enum Place: CaseIterable {
    case stored, computed, nested
  }

  final class Box: Observable {
    @Observed var value = 0
    @Observed var inner: Box?
    var same: Int { value }
  }

  @Test(
    "F6 Each set of options gives its calls, old before new, wherever the value is",
    arguments: 0..<32,
    Place.allCases)
  func options(bits: Int, place: Place) {
    let choice = Choice(bits)
    let (root, box) = (Box(), Box())
    root.inner = box
    let handler: (Log, Box, KVOChange<Int>) -> Void = { log, _, change in
      log.lines.append("\(change.phase) \(change.old.map { "\($0)" } ?? "-") \(change.new)")
    }
    switch place {
    case .stored: log.kvo.observe(box, \.value, options: choice.options, handler)
    case .computed: log.kvo.observe(box, \.same, options: choice.options, handler)
    case .nested: log.kvo.observe(root, \.inner!.value, options: choice.options, handler)
    }
    for value in [0, 1, 1, 2] { box.value = value }
    #expect(log.lines == choice.expected)
    #expect(log.kvo.observationCount == (choice.isOnce ? 0 : 1))
    withExtendedLifetime((root, box)) {}
  }

  @Test(
    "F3 Each set of options gives its calls in order on a queue",
    arguments: (0..<32).filter { $0 & 2 == 0 })
  func optionsOnQueue(bits: Int) async {
    let choice = Choice(bits)
    let counter = Counter()
    let owner = SharedLog()
    let queue = DispatchQueue(label: "kvo")
    counter.changes(of: \.count, options: choice.sourceOptions).observe(
      owner: owner, on: .queue(queue), options: choice.isOnce ? .once : []
    ) { owner, change in
      owner.lines.record("\(change.phase) \(change.old.map { "\($0)" } ?? "-") \(change.new)")
    }
    for value in [0, 1, 1, 2] { counter.count = value }
    await withCheckedContinuation { done in queue.async { done.resume() } }
    #expect(owner.lines.values == choice.expected)
    withExtendedLifetime(counter) {}
  }

  // MARK: Beside each other

  @Test("All prior calls come before the change, and all others after it, each in order")
  func severalPriors() {
    for name in ["a", "b"] {
      log.kvo.observe(radio, \.volume, options: .prior, policy: .append) { log, radio, change in
        log.lines.append("\(name) \(change.phase) \(radio.volume)")
      }
    }
    radio.volume = 1
    #expect(log.lines == ["a prior 0", "b prior 0", "a changed 1", "b changed 1"])
  }

  // MARK: Policies

  @Test("Replacing an observation inside its prior call ends it, and the new one hears the change")
  func replacedInside() {
    let second: (Log, Radio, KVOChange<Int>) -> Void = { log, _, change in
      log.lines.append("second \(change.phase) \(change.new)")
    }
    log.kvo.observe(radio, \.volume, options: .prior) { log, radio, change in
      log.lines.append("first \(change.phase)")
      log.kvo.observe(radio, \.volume, policy: .replace, second)
    }
    radio.volume = 1
    radio.volume = 2
    #expect(log.lines == ["first prior", "second changed 1", "second changed 2"])
  }

  @Test(
    "F5 Of many threads that observe the same path one is told that it was added, or stays if each replaces",
    arguments: [1, 2, 8], [true, false])
  func sameOnThreads(width: Int, isReplaced: Bool) {
    for _ in 0..<50 {
      let counter = Counter()
      let kvo = KVOController(owner: SharedLog.forever)
      let (heard, added) = (Recorder<Int>(), Recorder<Int>())
      onThreads(width) { index in
        let result = kvo.observe(counter, \.count, policy: isReplaced ? .replace : .ignore) {
          _, _, _ in heard.record(index)
        }
        if result.outcome == .added { added.record(index) }
      }
      counter.count = 1
      #expect(added.count == (isReplaced ? width : 1))
      #expect(heard.count == 1 && heard.values.allSatisfy(added.values.contains))
      #expect(kvo.observationCount == 1)
      withExtendedLifetime((counter, kvo)) {}
    }
  }

  @Test("Of many threads one makes the only call of an observation of one call", arguments: [2, 8])
  func onceOnThreads(width: Int) {
    for _ in 0..<20 {
      let (counter, calls) = (Counter(), Recorder<Int>())
      let token = counter.observe(\.double, options: .once) { calls.record($1.new) }
      onThreads(width) { _ in for _ in 0..<10 { counter.increment() } }
      #expect(calls.count == 1)
      #expect(!token.isActive)
    }
  }
}
