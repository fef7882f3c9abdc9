import Campanile
import CampanileTesting
import Dispatch
import TestSupport
import Testing

@testable import CampanileTesting

@Suite("Gates", .ownThread)
struct GateTests {
  @Test("Holds an observer in mid-call, and tells that it is there")
  func gate() async throws {
    let (gate, ticks) = (Gate(), Broadcaster<Int>())
    let after = Recorder<Int>()
    let token = ticks.observe(on: .queue(DispatchQueue(label: "held"))) { number in
      gate.pass()
      after.record(number)
    }
    ticks.send(1)
    try await gate.reached(within: patience)
    #expect(token.cancel() == .endedWhileMaybeRunning)
    #expect(after.values == [])
    gate.open()
    try await after.expect(1, within: patience)
    gate.pass()  // an open gate holds nobody
    #expect(gate.arrivalCount == 2)
  }

  @Test("Nobody comes: the wait fails by its clock")
  func nobody() async throws {
    let (gate, asyncGate, clock) = (Gate(), AsyncGate(), VirtualClock())
    async let one = failure { try await gate.reached(within: .seconds(5), clock: clock) }
    async let two = failure {
      try await asyncGate.reached(by: 2, within: .seconds(5), clock: clock)
    }
    try await clock.waitForSleepers(2, within: patience)
    clock.advance(by: .seconds(5))
    #expect(
      await one?.message
        == "Expected 1 arrival at the gate within 5.0 seconds, and there were 0.")
    #expect(await two?.code == .timedOut)
  }

  @Test("A thread that waits for somebody gives up, and says where")
  func nobodyForThread() async {
    let gate = Gate()
    let line = #line + 1
    let failure = await failure { try gate.waitUntilReached(within: .milliseconds(1)) }
    #expect(
      failure?.description
        == "\(#fileID):\(line): Expected another arrival at the gate within 0.001 seconds, "
        + "after 0 in all.")
    #expect(failure?.code == .timedOut)
  }

  @Test("A gate that stays closed says so, and holds")
  func closed() async {
    let (gate, asyncGate, warnings) = (Gate(), AsyncGate(), Recorder<String>())
    // Opened by the warning itself: without one, the test would not go on.
    gate.pass(warningAfter: .zero, within: patience) { _ in
      warnings.record("thread")
      gate.open()
    }
    await asyncGate.pass(warningAfter: .zero, within: patience) { _ in
      warnings.record("task")
      asyncGate.open()
    }
    #expect(warnings.values == ["thread", "task"])
    // An open one holds nobody and says nothing.
    gate.pass(warningAfter: .zero, within: .zero) { _ in warnings.record("open") }
    await asyncGate.pass(warningAfter: .zero, within: .zero) { _ in warnings.record("open") }
    #expect(warnings.count == 2)
  }

  @Test("A gate that nobody opens opens by itself, and says so")
  func nobodyOpens() async {
    let (limit, warnings) = (Duration.milliseconds(1), Recorder<String>())
    for patience in [Duration.zero, .seconds(1)] {
      let (gate, asyncGate) = (Gate(), AsyncGate())
      gate.pass(warningAfter: patience, within: limit) { warnings.record("\($0)") }
      await asyncGate.pass(warningAfter: patience, within: limit) { warnings.record("\($0)") }
      // Open for everybody from here on.
      gate.pass()
      await asyncGate.pass()
    }
    let (held, opened) = ("held(0.0 seconds)", "opened(0.001 seconds)")
    #expect(warnings.values == [held, opened, held, opened, opened, opened])
  }

  @Test("The time up to the warning is part of the time that a gate holds a task")
  func warnedTask() async throws {
    let (gate, clock, warnings) = (AsyncGate(), VirtualClock(), Recorder<String>())
    let task = Task {
      await gate.pass(warningAfter: .seconds(10), within: .seconds(12), by: clock) {
        warnings.record("\($0)")
      }
    }
    try await clock.waitForSleepers(within: patience)
    clock.advance(by: .seconds(10))
    try await warnings.expect("held(10.0 seconds)", within: patience)
    try await clock.waitForSleepers(within: patience)
    clock.advance(by: .seconds(2))
    try await warnings.expect("opened(12.0 seconds)", within: patience)
    await task.value
  }

  @Test("Holds a task, whatever becomes of it")
  func asyncGate() async throws {
    let (gate, done) = (AsyncGate(), Recorder<Bool>())
    let task = Task {
      await gate.pass()
      done.record(Task.isCancelled)
    }
    try await gate.reached(within: patience)
    task.cancel()
    #expect(done.values == [])
    gate.open()
    try await done.expect(true, within: patience)
  }

  @Test("Tasks go on in the order in which they came")
  func order() {
    // Seen on one thread: not even the main actor runs tasks in the order in which they are resumed.
    let (gate, passed, executor) = (AsyncGate(), Recorder<Int>(), ManualExecutor())
    for number in 1...9 {
      Task(executorPreference: executor) {
        await gate.pass()
        passed.record(number)
      }
    }
    executor.runUntilIdle()
    #expect(gate.arrivalCount == 9)
    gate.open()
    executor.runUntilIdle()
    #expect(passed.values == Array(1...9))
  }
}

@Suite("ManualDelivery", .ownThread)
struct ManualDeliveryTests {
  private let manual = ManualDelivery()
  private let ticks = Broadcaster<Int>()
  private let heard = Recorder<String>()

  @Test("K6 Delivers one message after the other, when told")
  func oneByOne() {
    let tokens = ["a", "b"].map { name in
      ticks.observe(on: manual.delivery) { [heard] in heard.record("\(name)\($0)") }
    }
    for number in 1...3 { ticks.send(number) }
    #expect(heard.values == [] && manual.pendingCount == 3)
    #expect(manual.runNext())
    #expect(heard.values == ["a1", "b1"] && manual.pendingCount == 2)
    ticks.send(4)
    #expect(manual.runAll() == 3)
    #expect(heard.values == ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"])
    #expect(!manual.runNext() && manual.pendingCount == 0)
    withExtendedLifetime(tokens) {}
  }

  @Test("K11 Observers on the main actor wait, when told to, and run there")
  @MainActor func onMain() {
    let (center, manual, screen) = (MessageCenter(), ManualDelivery(), Screen())
    center.observe(Tick.self, owner: screen, on: manual.main) { screen, tick in
      MainActor.assertIsolated()
      screen.number = tick.number
    }
    center.post(Tick(number: 1))
    #expect((screen.number, manual.pendingCount) == (0, 1))
    manual.runAll()
    #expect(screen.number == 1)
  }

  @MainActor private final class Screen { var number = 0 }

  @Test("A task that is made on the place does not run there, also while the place runs")
  func taskOnPlace() async throws {
    let (inside, gate) = (Recorder<Bool>(), Gate())
    // What waits for the task is no thread that tasks need.
    let wait = onThread { [manual] in
      manual.run {
        Task { inside.record(manual.isCurrent) }
        gate.pass()
      }
    }
    try await inside.expect(false, within: patience)
    gate.open()
    wait()
  }

  @Test("An action comes after the deliveries that waited before it, and waits like one")
  func action() {
    let token = ticks.observe(on: manual.delivery) { [heard] in heard.record("\($0)") }
    for number in 1...3 { ticks.send(number) }
    manual.delivery.perform { [heard] in heard.record("action") }
    #expect(manual.pendingCount == 4)
    #expect(manual.runAll() == 4)
    #expect(heard.values == ["1", "2", "3", "action"])
    withExtendedLifetime(token) {}
  }

  @Test("Inside a delivery, the deliveries behind it are pending")
  func pendingInside() {
    let counts = Recorder<Int>()
    let token = ticks.observe(on: manual.delivery) { [manual] _ in
      counts.record(manual.pendingCount)
    }
    for number in 1...3 { ticks.send(number) }
    manual.runAll()
    #expect(counts.values == [2, 1, 0])
    withExtendedLifetime(token) {}
  }

  @Test("Inside a delivery that another one runs, the deliveries behind both are pending")
  func pendingInNestedRun() {
    let (tocks, counts) = (Broadcaster<Int>(), Recorder<Int>())
    let outer = ticks.observe(on: manual.delivery) { [manual] _ in _ = manual.runNext() }
    let inner = tocks.observe(on: manual.delivery.buffered(.newest(1))) { [manual] _ in
      counts.record(manual.pendingCount)
    }
    ticks.send(1)
    ticks.send(2)
    tocks.send(1)
    manual.runNext()
    #expect(counts.values == [1])
    withExtendedLifetime((outer, inner)) {}
  }

  @Test("K3 K8 What has ended meanwhile is not delivered")
  func ended() {
    final class Owner: Sendable {}
    var owner: Owner? = Owner()
    ticks.observe(owner: owner!, on: manual.delivery) { [heard] _, _ in heard.record("owner") }
    let token = ticks.observe(on: manual.delivery) { [heard] _ in heard.record("token") }
    ticks.send(1)
    ticks.send(2)
    manual.runNext()
    #expect(heard.values == ["owner", "token"])
    withExtendedLifetime(owner) {}
    owner = nil
    token.cancel()
    #expect(manual.pendingCount == 1)
    manual.runAll()
    #expect(heard.values == ["owner", "token"])
  }

  @Test("K12 A bounded observer's deliveries are steps of their own, and keep its bound")
  func bounded() {
    let token = ticks.observe(on: manual.delivery.buffered(.newest(2))) { [heard] in
      heard.record("\($0)")
    }
    for number in 1...4 { ticks.send(number) }
    #expect(manual.pendingCount == 2)
    manual.runNext()
    #expect(heard.values == ["3"])
    ticks.send(5)
    ticks.send(6)
    manual.runAll()
    #expect(heard.values == ["3", "5", "6"])
    #expect(token.registration.droppedCount == 3)
    ticks.send(7)
    #expect(manual.runAll() == 1)
  }

  @Test("K11 Code on the place is delivered to inline, unless something waits")
  func inline() {
    let token = ticks.observe(on: manual.delivery) { [heard] in heard.record("\($0)") }
    manual.run { ticks.send(1) }
    #expect(heard.values == ["1"])
    ticks.send(2)
    manual.run { ticks.send(3) }
    #expect(heard.values == ["1"])
    manual.runAll()
    #expect(heard.values == ["1", "2", "3"])
    withExtendedLifetime(token) {}
  }

  @Test("K7 Observers post, and run the place, while they run")
  func nested() {
    let token = ticks.observe(on: manual.delivery) { [heard, manual, ticks] number in
      heard.record("begin \(number) \(manual.isCurrent)")
      if number < 3 { ticks.send(number + 1) }
      manual.runNext()
      heard.record("end \(number)")
    }
    ticks.send(1)
    // What an observer posts comes after its own delivery.
    #expect(manual.runAll() == 3)
    #expect(
      heard.values == [
        "begin 1 true", "end 1", "begin 2 true", "end 2", "begin 3 true", "end 3",
      ])
    withExtendedLifetime(token) {}
  }

  @Test("K10 Whoever waits for a post is told when it has been run, or discarded")
  func waiting() async throws {
    let token = ticks.observe(on: manual.delivery) { [heard] in heard.record("\($0)") }
    // An immediate observer is called when what others are sent waits for them.
    let sent = Recorder(observing: ticks)
    async let first: Void = ticks.sendAndWait(1)
    try await sent.expect(1, within: patience)
    ticks.send(2)
    manual.runNext()
    try await first
    #expect(heard.values == ["1"])
    async let third: Void = ticks.sendAndWait(3)
    try await sent.expect(2, 3, within: patience)
    #expect(manual.pendingCount == 2)
    manual.end()
    manual.end()
    try await third
    #expect(heard.values == ["1"] && manual.mailbox.discardedCount == 2)
    withExtendedLifetime(token) {}
  }

  @Test("What comes after the end is discarded and counted, and whoever waits for it is told")
  func afterTheEnd() async throws {
    let tokens = [
      ticks.observe(on: manual.delivery) { [heard] in heard.record("\($0)") },
      ticks.observe(on: manual.delivery.buffered(.newest(2))) { [heard] in
        heard.record("\($0)")
      },
    ]
    manual.end()
    ticks.send(1)
    #expect(manual.pendingCount == 0 && manual.mailbox.discardedCount == 1)
    #expect(tokens[1].registration.droppedCount == 1)
    #expect(!manual.runNext())
    try await ticks.sendAndWait(2)
    #expect(manual.mailbox.discardedCount == 2 && heard.values == [])
    withExtendedLifetime(tokens) {}
  }

  @Test("After the end nothing is delivered inline, either")
  func insideAfterTheEnd() {
    let token = ticks.observe(on: manual.delivery) { [heard] in heard.record("\($0)") }
    manual.end()
    manual.run { ticks.send(1) }
    #expect(heard.values == [] && manual.mailbox.discardedCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test("What is discarded with the place may be the last that keeps its own registration")
  func keepsItself() {
    final class Player: Sendable {}
    struct Handed: MessageCenter.Message {
      typealias Subject = Player
      let token: ObservationToken
    }
    for _ in 0..<100 {
      let (center, manual, player) = (MessageCenter(), ManualDelivery(), Player())
      do {
        let token = center.messages(of: Handed.self, about: player)
          .observe(on: manual.delivery.buffered(.newest(4))) { (_: Handed) in }
        center.post(Handed(token: token), about: player)
      }
      #expect(center.observerCount == 1)
      manual.end()
      #expect(center.observerCount == 0)
    }
  }

  @Test("A task that is made on the place is not on it, even on the same thread")
  @MainActor func tasks() async {
    let (inside, task) = manual.run {
      (manual.isCurrent, Task { @MainActor in manual.isCurrent })
    }
    let later = await task.value
    #expect(inside && !later)
  }

  @Test("Values of every kind are moved whole, and released once")
  func values() {
    let (leaks, tracks) = (LeakTracker(), Broadcaster<[any Sendable]>())
    let token = tracks.observe(on: manual.delivery) { [heard] in heard.record("\($0.count)") }
    for count in 0..<200 {
      tracks.send((0..<count).map { leaks.makeProbe("probe \($0)") })
    }
    for _ in 0..<150 { manual.runNext() }
    #expect(leaks.alive.count == (150..<200).reduce(0, +))
    manual.runAll()
    #expect(heard.values == (0..<200).map { "\($0)" })
    #expect(leaks.alive == [])
    withExtendedLifetime(token) {}
  }

  @Test("Posts from many threads are all delivered, each thread's in order", arguments: [2, 8])
  func threads(width: Int) async {
    let numbers = Recorder(observing: ticks, on: manual.delivery)
    let isDone = Recorder<Bool>()
    await withTaskGroup { group in
      for thread in 0..<width {
        group.addTask { [ticks] in
          for number in 0..<500 { ticks.send(thread * 500 + number) }
        }
      }
      let runner = Task.detached { [manual] in
        while isDone.count == 0 {
          manual.runNext()
          await Task.yield()
        }
        manual.runAll()
      }
      await group.waitForAll()
      isDone.record(true)
      await runner.value
    }
    for thread in 0..<width {
      let own = numbers.values.filter { $0 / 500 == thread }
      #expect(own == Array(thread * 500..<(thread + 1) * 500))
    }
  }
}

@Suite("VirtualClock", .ownThread)
struct VirtualClockTests {
  private let clock = VirtualClock()

  @Test("Nobody sleeps: the wait for sleepers fails, and says where")
  func nobodySleeps() async throws {
    let (clock, real) = (VirtualClock(), VirtualClock())
    let line = #line + 2
    async let none = failure {
      try await clock.waitForSleepers(2, within: .seconds(5), clock: real)
    }
    try await real.waitForSleepers(within: patience)
    real.advance(by: .seconds(5))
    #expect(
      await none?.description
        == "\(#fileID):\(line): Expected 2 sleepers of the clock within 5.0 seconds, and there "
        + "were 0.")
  }

  @Test("The wait for sleepers ends with its task")
  func canceledWaitForSleepers() async {
    let clock = VirtualClock()
    let task = Task { try await clock.waitForSleepers() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("Stands still; wakes who is due, earliest first")
  func wakes() async throws {
    let woken = Recorder<Int>()
    for seconds in [3, 1, 2] {
      Task { [clock] in
        try await clock.sleep(for: .seconds(seconds))
        woken.record(seconds)
      }
    }
    try await clock.waitForSleepers(3, within: patience)
    #expect(clock.now.offset == .zero)
    clock.advance(by: .seconds(1))
    try await woken.expect(1, within: patience)
    #expect(clock.sleeperCount == 2)
    clock.advance(to: .init(offset: .seconds(3)))
    #expect(Set(try await woken.next(2, within: patience)) == [2, 3])
    clock.advance(to: .init(offset: .zero))
    #expect(clock.now.offset == .seconds(3))
    // This time has come already.
    Task { [clock] in
      try await clock.sleep(until: .init(offset: .seconds(3)), tolerance: nil)
      woken.record(0)
    }
    #expect(try await woken.next(within: patience) == 0)
  }

  @Test("Who is due earlier is woken earlier, whoever began to sleep first")
  func order() {
    // What the tasks do after they have been woken is in no order, if two threads run them.
    let (woken, executor) = (Recorder<Int>(), ManualExecutor())
    for seconds in [3, 1, 4, 2] {
      Task(executorPreference: executor) { [clock] in
        try await clock.sleep(for: .seconds(seconds))
        woken.record(seconds)
      }
    }
    executor.runUntilIdle()
    #expect(clock.sleeperCount == 4)
    clock.advance(by: .seconds(4))
    executor.runUntilIdle()
    #expect(woken.values == [1, 2, 3, 4])
  }

  @Test("A task that sleeps again and again is advanced in steps")
  func repeats() async throws {
    let ticks = Recorder<Int>()
    let task = Task { [clock] in
      for number in 1...3 {
        try await clock.sleep(for: .seconds(10))
        ticks.record(number)
      }
    }
    for number in 1...3 {
      try await clock.waitForSleepers(within: patience)
      clock.advance(by: .seconds(10))
      try await ticks.expect(number, within: patience)
    }
    try await task.value
  }

  @Test("A cancelled sleep throws, and is not counted")
  func cancelled() async throws {
    let task = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
    try await clock.waitForSleepers(within: patience)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleeperCount == 0)
    clock.advance(by: .seconds(1))
    for seconds in 0...1 {
      let late = Task { [clock] in
        unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
        try await clock.sleep(for: .seconds(seconds))
      }
      await #expect(throws: CancellationError.self) { try await late.value }
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test("Cancelling and advancing at once loses no sleeper", arguments: [2, 8])
  func races(width: Int) async throws {
    for _ in 0..<100 {
      let tasks = (0..<width).map { _ in
        Task { [clock] in try? await clock.sleep(for: .seconds(1)) }
      }
      try await clock.waitForSleepers(width, within: patience)
      async let cancelled: Void = { for task in tasks { task.cancel() } }()
      clock.advance(by: .seconds(1))
      await cancelled
      for task in tasks { await task.value }
      #expect(clock.sleeperCount == 0)
    }
  }
}
