import Campanile
import CampanileKVO
import Dispatch
import Foundation
import Observation
import Testing

/// Changes that meet: inside one another, on other threads, in tasks.
@Suite("Changes that meet", .ownThread)
struct InterleavingTests {
  /// Two numbers behind a lock, and what is computed from them.
  final class Pair: SharedObservable {
    let registrar = KVORegistrar()
    private let state = Locked([0, 0])
    /// What a getter runs after it has read the first number.
    let hook = Slot<@Sendable () -> Void>()

    var first: Int {
      get { read(\.first, 0) }
      set { write(\.first, 0, newValue) }
    }
    var second: Int {
      get { read(\.second, 1) }
      set { write(\.second, 1, newValue) }
    }
    var sum: Int {
      let first = first
      hook.value?()
      return first + second
    }

    private func read(_ keyPath: KeyPath<Pair, Int>, _ index: Int) -> Int {
      registrar.access(self, keyPath: keyPath)
      return state.withLock { $0[index] }
    }
    private func write(_ keyPath: KeyPath<Pair, Int>, _ index: Int, _ value: Int) {
      registrar.withMutation(of: self, keyPath: keyPath) { state.withLock { $0[index] = value } }
    }
  }

  /// Runs its jobs on one thread.
  final class ThreadExecutor: SerialExecutor {
    private let jobs = Locked<[UnownedJob]>([])
    private let wake = DispatchSemaphore(value: 0)

    init() {
      Thread.detachNewThread { [self] in
        while true {
          wake.wait()
          let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
          guard let job else { return }
          unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        }
      }
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
      wake.signal()
    }

    func end() { wake.signal() }
  }

  actor Resident {
    let executor = ThreadExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    func run(_ body: @Sendable () -> Void) { body() }
  }

  let pair = Pair()
  let owner = SharedLog()

  private func followed<Value: Sendable>(
    _ keyPath: any KeyPath<Pair, Value> & Sendable, _ options: KVOChange<Value>.SharedOptions = []
  ) -> ObservationToken {
    pair.observe(keyPath, options: options) { [owner] _, change in
      let names = change.changedPaths.map { $0 == \Pair.first ? "first" : "second" }
      owner.lines.record("\(change.new) \(names.joined(separator: ","))")
    }
  }

  // MARK: Inside one another

  final class Leaf: Observable {
    @Observed var value = 0
  }

  final class Root: Observable {
    @Observed var leaf: Leaf?
    @Observed var signal = 0
  }

  @Test(
    "An object that left the path while it was changed, and came back, is followed again",
    arguments: [false, true])
  func comesBack(isDistinct: Bool) {
    let (root, leaf) = (Root(), Leaf())
    root.leaf = leaf
    var isToBeRemoved = true
    let remover = root.observe(\.leaf?.value) { root, _ in
      if isToBeRemoved {
        isToBeRemoved = false
        root.leaf = nil
      }
    }
    let restorer = root.observe(\.signal) { root, _ in root.leaf = leaf }
    let log = Log()
    log.kvo.observe(root, \.leaf?.value, options: isDistinct ? .distinct : []) { log, _, change in
      log.lines.append("\(change.new, default: "nil")")
    }
    // The observer before takes the object away.
    leaf.value = 1
    #expect(log.lines == ["1", "nil"])
    root.signal += 1
    leaf.value = 2
    root.leaf = nil
    #expect(log.lines == ["1", "nil", "1", "2", "nil"])
    withExtendedLifetime((remover, restorer)) {}
  }

  // MARK: On other threads

  @Test(
    "A property that leaves the path while another thread changes it is followed when it comes back",
    arguments: [false, true])
  func leavesWhileChanged(comesBackAtOnce: Bool) {
    let toggle = Toggle(isOn: true)
    let (inside, outside) = (Gate(), Gate())
    let told = Recorder<Int>()
    let token = toggle.observe(\.shown) { _, change in told.record(change.new) }
    let setting = onThread {
      toggle.setValue(1) { inside.pass() }
      outside.pass()
      toggle.setValue(2)
      toggle.isOn = false
    }
    inside.waitUntilReached()
    toggle.isOn = false
    if comesBackAtOnce { toggle.isOn = true }
    inside.open()
    outside.waitUntilReached()
    toggle.isOn = true
    #expect(told.values == (comesBackAtOnce ? [-1, 0, 1, 1] : [-1, 1]))
    outside.open()
    setting()
    #expect(told.values.suffix(3) == [1, 2, -1])
    withExtendedLifetime(token) {}
  }

  @Test("A change between the reading and the following of a property is not missed")
  func changeWhileReading() {
    let pair = pair
    pair.hook.set {
      pair.hook.set(nil)
      onThread { pair.first = 5 }()
    }
    let token = followed(\.sum, .initial)
    #expect(owner.lines.values == ["5 "])
    withExtendedLifetime(token) {}
  }

  // MARK: In tasks

  /// Runs `body` while another thread is inside a transaction.
  private func besideATransaction(_ body: () async -> Void) async {
    let gate = Gate()
    let elsewhere = onThread { KVOTransaction.perform { gate.pass() } }
    gate.waitUntilReached()
    await body()
    gate.open()
    elsewhere()
  }

  /// Runs `body` while another thread is inside a transaction, or alone.
  private func run(besideATransaction isBeside: Bool, _ body: () -> Void) async {
    if isBeside { await besideATransaction(body) } else { body() }
  }

  @Test(
    "A value is not read while it is changed in place, whatever other threads do",
    arguments: [false, true], [false, true])
  func setInsideChangeInPlace(isBeside: Bool, isTransaction: Bool) async {
    final class Store: Observable {
      @Observed var items = [1, 2]
      @Observed var number = 0
      @Observed var flag = false
      var both: Int { items.count + number }
    }
    var heard: [Int] = []
    await run(besideATransaction: isBeside) {
      let store = Store()
      let tokens = [
        store.observe(\.flag) { store, _ in
          if isTransaction {
            KVOTransaction.perform { store.number += 1 }
          } else {
            store.number += 1
          }
        },
        store.observe(\.both) { _, change in heard.append(change.new) },
      ]
      store.items.removeAll { _ in
        store.flag = true
        return false
      }
      withExtendedLifetime(tokens) {}
    }
    #expect(heard == [4])
  }

  /// Changes the pair in a task that was made in a transaction, on its thread, when that has ended.
  private func changeAfterTransaction(_ change: @escaping @Sendable () -> Void) async {
    let token = followed(\.first)
    let resident = Resident()
    let made = Slot<Task<Void, Never>>()
    await besideATransaction {
      await resident.run {
        KVOTransaction.perform { made.set(Task { await resident.run(change) }) }
      }
      await made.value?.value
    }
    withExtendedLifetime(token) {}
    resident.executor.end()
  }

  @Test("A task made in a transaction tells by itself, also later on the same thread")
  func taskAfterTransaction() async {
    let (pair, owner) = (pair, owner)
    await changeAfterTransaction {
      pair.first = 3
      pair.first = 4
      owner.lines.record("end")
    }
    #expect(owner.lines.values == ["3 first", "4 first", "end"])
  }

  @Test("A task made in a getter is no part of its evaluation, also later on the same thread")
  func taskAfterEvaluation() async {
    let token = followed(\.sum)
    let other = Counter()
    let resident = Resident()
    let made = Slot<Task<Void, Never>>()
    let pair = pair
    pair.hook.set {
      pair.hook.set(nil)
      made.set(Task { await resident.run { _ = other.count } })
    }
    await besideATransaction {
      await resident.run { pair.first = 1 }
      await made.value?.value
    }
    pair.first = 2
    other.count = 5
    #expect(owner.lines.count == 2)
    withExtendedLifetime(token) {}
    resident.executor.end()
  }
}
