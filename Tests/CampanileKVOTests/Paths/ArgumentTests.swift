import Campanile
import CampanileKVO
import Observation
import Synchronization
import TestSupport
import Testing

/// Key paths with arguments, whose `==` and `hash(into:)` are a program's own code.
@Suite("Key paths with arguments", .ownThread)
struct ArgumentTests {
  /// What an argument does when it is compared or hashed.
  ///
  /// An object: a task-local closure has no usable metadata in optimized builds of Swift 6.3.1.
  final class Hook: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// An argument that does something when it is compared or hashed.
  struct Cell: Hashable, Sendable {
    /// What it does, on the thread that set it.
    @TaskLocal static var hook: Hook?

    let number: Int
    init(_ number: Int) { self.number = number }

    static func == (one: Self, other: Self) -> Bool {
      run()
      return one.number == other.number
    }
    func hash(into hasher: inout Hasher) {
      Self.run()
      hasher.combine(number)
    }

    private static func run() {
      guard let hook else { return }
      $hook.withValue(nil) { hook.run() }
    }
  }

  final class Sheet: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Locked<[Int: Int]>([:])

    subscript(cell: Cell) -> Int {
      get {
        registrar.access(self, keyPath: \.[cell])
        return state.withLock { $0[cell.number] ?? 0 }
      }
      set {
        registrar.withMutation(of: self, keyPath: \.[cell]) {
          state.withLock { $0[cell.number] = newValue }
        }
      }
    }
  }

  let sheet = Sheet()
  let log = SharedLog()

  @Test("Each argument is a property of its own")
  func apart() {
    let kvo = KVOController(owner: log)
    for number in 0..<20 {
      kvo.observe(sheet, \.[Cell(number)], options: .old) { log, _, change in
        log.lines.record("\(number): \(change.old ?? -1) -> \(change.new)")
      }
    }
    #expect(kvo.observe(sheet, \.[Cell(7)]) { _, _, _ in }.outcome == .alreadyObserved)
    sheet[Cell(7)] = 1
    sheet[Cell(19)] = 2
    sheet[Cell(7)] = 3
    sheet[Cell(40)] = 4
    #expect(log.lines.values == ["7: 0 -> 1", "19: 0 -> 2", "7: 1 -> 3"])
    kvo.unobserve(sheet, \.[Cell(7)])
    #expect(!kvo.isObserving(sheet, \.[Cell(7)]))
    #expect(kvo.isObserving(sheet, \.[Cell(8)]))
    sheet[Cell(7)] = 5
    #expect(log.lines.count == 3)
  }

  @Test("F5 A path that is observed while another call looks for it is observed once")
  func observedMeanwhile() {
    let (sheet, kvo) = (sheet, KVOController(owner: log))
    // There is something to compare with.
    kvo.observe(sheet, \.[Cell(1)]) { _, _, _ in }
    let hook = Hook { kvo.observe(sheet, \.[Cell(2)]) { _, _, _ in } }
    let outcomes = Recorder<KVOResult.Outcome>()
    onThread {
      Cell.$hook.withValue(hook) {
        outcomes.record(kvo.observe(sheet, \.[Cell(2)]) { _, _, _ in }.outcome)
      }
    }()
    #expect(outcomes.values == [.alreadyObserved])
    #expect(kvo.observationCount == 2)
  }

  @Test("K7 No lock is held while arguments are compared or hashed")
  func noLock() async {
    // On a thread of its own: the hook is bound to no task there.
    await #expect(processExitsWith: .success) { onThread(Self.compareInHooks)() }
  }

  private static func compareInHooks() {
    let sheet = Sheet()
    let log = SharedLog()
    let kvo = KVOController(owner: log)
    let runs = LiveCount()
    // Does, inside `==`, all that takes a lock of the object, the controller or the transaction.
    let hook = Hook {
      runs.value.wrappingAdd(1, ordering: .relaxed)
      kvo.observe(sheet, \.[Cell(2)], policy: .append) { _, _, _ in }
      sheet[Cell(2)] += 1
      sheet[Cell(3)] += 1
      kvo.unobserve(sheet, \.[Cell(2)])
    }
    Cell.$hook.withValue(hook) {
      for policy in [KVOController<SharedLog>.Policy.ignore, .replace, .append] {
        kvo.observe(sheet, \.[Cell(1)], options: .initial, policy: policy) { log, _, change in
          log.lines.record("\(change.new)")
        }
      }
      sheet[Cell(1)] = 1
      KVOTransaction.perform {
        sheet[Cell(1)] = 2
        sheet[Cell(4)] = 3
      }
    }
    precondition(runs.current > 10)
    precondition(kvo.isObserving(sheet, \.[Cell(1)]))
    precondition(log.lines.values.suffix(2) == ["2", "2"])
    kvo.unobserve(sheet, \.[Cell(1)])
    precondition(!kvo.isObserving(sheet, \.[Cell(1)]))
  }

  @Test("Properties that are asked about on many threads at once are one each", arguments: [2, 8])
  func manyThreads(width: Int) {
    for _ in 0..<20 {
      let sheet = Sheet()
      let kvo = KVOController(owner: log)
      let heard = Recorder<Int>()
      onThreads(width) { _ in
        for number in 0..<10 {
          kvo.observe(sheet, \.[Cell(number)], policy: .append) { _, _, _ in heard.record(number) }
        }
      }
      for number in 0..<10 { sheet[Cell(number)] = 1 }
      #expect(heard.values == (0..<10).flatMap { Array(repeating: $0, count: width) })
      withExtendedLifetime(kvo) {}
    }
  }
}
