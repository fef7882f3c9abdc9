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

  @Test("A didChange that nothing began is no change in a transaction either")
  func strayDidChange() {
    let token = followed(\.first)
    KVOTransaction.perform {
      pair.first = 1
      pair.registrar.didChange(pair, keyPath: \.second)
    }
    #expect(owner.lines.values == ["1 first"])
    withExtendedLifetime(token) {}
  }

  @Test(
    "What an observer reads is not followed, also if a getter's own change led to it",
    arguments: [false, true])
  func observerInsideGetter(isTransaction: Bool) {
    final class Counting: Observable {
      @Observed var reads = 0
      @Observed var value = 0
      let isTransaction: Bool
      init(_ isTransaction: Bool) { self.isTransaction = isTransaction }
      var counted: Int {
        if isTransaction {
          KVOTransaction.perform { reads += 1 }
        } else {
          reads += 1
        }
        return value
      }
    }
    let counting = Counting(isTransaction)
    let other = Radio()
    let log = Log()
    let token = counting.observe(\.reads) { _, _ in _ = other.volume }
    log.kvo.observe(counting, \.counted) { log, _, change in log.lines.append("\(change.new)") }
    other.volume = 3
    #expect(log.lines.isEmpty)
    counting.value = 1
    other.volume = 4
    #expect(log.lines == ["1"])
    withExtendedLifetime(token) {}
  }

  final class Leaf: Observable {
    @Observed var value = 0
  }

  final class Root: Observable {
    @Observed var leaf: Leaf?
    @Observed var signal = 0
    var shown: Int { leaf?.value ?? -1 }
  }

  @Test("A change whose object is replaced in its prior call does not silence the observation")
  func replacedInPriorCall() {
    let (root, first, other) = (Root(), Leaf(), Leaf())
    root.leaf = first
    let log = Log()
    log.kvo.observe(root, \.leaf?.value, options: [.prior]) { log, root, change in
      log.lines.append("\(change.phase) \(change.new ?? -1)")
      if change.phase == .prior && root.leaf === first { root.leaf = other }
    }
    first.value = 1
    log.lines = []
    other.value = 2
    other.value = 3
    #expect(log.lines.contains("changed 2"))
    #expect(log.lines.last == "changed 3")
    #expect(log.lines.count == 4)
  }

  @Test("A change to an equal value inside another one does not hide what that one changes")
  func equalInsideAnother() {
    let (root, leaf) = (Root(), Leaf())
    root.leaf = leaf
    let remover = root.observe(\.leaf?.value) { root, change in
      if change.new == -1 { root.leaf = nil }
    }
    let log = Log()
    log.kvo.observe(root, \.shown, options: .distinct) { log, _, change in
      log.lines.append("\(change.new)")
    }
    var isToBeSet = true
    let setter = root.observe(\.leaf?.value, options: .prior) { root, change in
      guard change.phase == .prior && isToBeSet else { return }
      isToBeSet = false
      root.leaf = leaf
    }
    leaf.value = -1
    #expect(log.lines == ["-1"])
    leaf.value = 2
    root.leaf = leaf
    #expect(log.lines == ["-1", "2"])
    withExtendedLifetime((remover, setter)) {}
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

  @Test(
    "Threads that read old values at the same time do not silence each other", arguments: [2, 8])
  func readOldOnManyThreads(width: Int) {
    let told = Recorder<Int>()
    let token = pair.observe(\.sum, options: [.old]) { _, change in told.record(change.new) }
    onThreads(width) { _ in
      for number in 0..<200 { pair.first = number }
    }
    let before = told.count
    onThreads(width) { _ in pair.second += 1_000 }
    #expect(told.count > before)
    let after = told.count
    pair.first = -1
    #expect(told.count == after + 1)
    withExtendedLifetime(token) {}
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

  @Test("What others leave is not told inside a call, but after it")
  func leftUntilTheCallEnds() {
    let gate = Gate()
    let (pair, owner) = (pair, owner)
    let token = pair.observe(\.sum) { pair, change in
      owner.lines.record("in \(change.new)")
      if change.new == 1 {
        gate.pass()
        pair.second = 10
      }
      owner.lines.record("out \(change.new)")
    }
    let telling = onThread { pair.first = 1 }
    gate.waitUntilReached()
    pair.first = 2
    gate.open()
    telling()
    #expect(
      owner.lines.values == ["in 1", "out 1", "in 12", "out 12"])
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

  @Test("A task that runs beside an open transaction is no part of it")
  func taskBesideTransaction() async {
    let token = followed(\.first)
    let (pair, owner) = (pair, owner)
    await withCheckedContinuation { continuation in
      // On a thread of its own, which may block: those that run tasks are few.
      _ = onThread {
        KVOTransaction.perform {
          let done = DispatchSemaphore(value: 0)
          Task {
            pair.first = 3
            done.signal()
          }
          done.wait()
          #expect(owner.lines.values == ["3 first"])
        }
        continuation.resume()
      }
    }
    #expect(owner.lines.count == 1)
    withExtendedLifetime(token) {}
  }

  /// Runs `body` while another thread is inside a transaction, or alone.
  private func run(besideATransaction isBeside: Bool, _ body: () -> Void) async {
    if isBeside { await besideATransaction(body) } else { body() }
  }

  @Test("A set inside a set is told with it, whatever other threads do", arguments: [false, true])
  func setInsideSet(isBeside: Bool) async {
    final class Mixer: Observable {
      let registrar = KVORegistrar()
      @Observed var right = 0
      @Observed var isMuted = false
      private var stored = 0
      var left: Int {
        get {
          registrar.access(self, keyPath: \.left)
          return stored
        }
        set {
          registrar.withMutation(of: self, keyPath: \.left) {
            isMuted = true
            stored = newValue
          }
        }
      }
      var sum: Int { left + right }
    }
    var heard: [Int] = []
    await run(besideATransaction: isBeside) {
      let mixer = Mixer()
      let tokens = [
        mixer.observe(\.isMuted) { mixer, _ in mixer.right += 10 },
        mixer.observe(\.sum) { _, change in heard.append(change.new) },
      ]
      mixer.left = 1
      withExtendedLifetime(tokens) {}
    }
    #expect(heard == [11])
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

  @Test("What a setter leaves to a task is no part of the edit, also later on the same thread")
  func setInTaskAfterEdit() async {
    let list = PostponingList()
    list.replace(with: [1])
    let kinds = Recorder<Edit>()
    let token = list.observe(\.items) { _, change in kinds.record(change.edit) }
    let resident = Resident()
    let made = Slot<Task<Void, Never>>()
    list.onSet.set { made.set(Task { await resident.run { list.replace(with: [7, 8]) } }) }
    await besideATransaction {
      await resident.run { list.mutableArray(\.items).append(.init(number: 2)) }
      await made.value?.value
    }
    #expect(list.items.map(\.number) == [7, 8])
    #expect(kinds.values == [.setting])
    withExtendedLifetime(token) {}
    // It keeps the list.
    list.onSet.set(nil)
    resident.executor.end()
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

  /// An array of what cannot be compared, whose setter sets nothing itself.
  final class PostponingList: SharedObservable {
    struct Item: Sendable {
      let number: Int
    }

    private let registrar = KVORegistrar()
    private let state = Locked<[Item]>([])
    /// What the setter does instead.
    let onSet = Slot<@Sendable () -> Void>()

    var items: [Item] {
      get {
        registrar.access(self, keyPath: \.items)
        return state.withLock { $0 }
      }
      set { onSet.value?() }
    }

    func replace(with numbers: [Int]) {
      registrar.withMutation(of: self, keyPath: \.items) {
        state.withLock { $0 = numbers.map { Item(number: $0) } }
      }
    }
  }
}
