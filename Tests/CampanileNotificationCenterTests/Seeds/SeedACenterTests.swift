import Campanile
import CampanileFoundation
import Foundation
import Synchronization
import Testing

@testable import CampanileNotificationCenter

/// What Foundation's center does where it can be shown, and what ours does; the rest is in the table of
/// differences.
///
/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds A: Foundation's center and ours", .ownThread)
struct SeedACenterTests {
  typealias Theirs = Foundation.NotificationCenter
  typealias Ours = CampanileNotificationCenter.NotificationCenter

  // What each difference is, and that it is one, the tables' own tests show.
  @Test("A1 A2 A3 A4 A6 A7 A10 these rows, and no others, are differences in the tables")
  func inTheTables() {
    #expect(
      Set(DifferentialTests.differences.values) == ["A1", "A2", "A3", "A4", "A6", "A7"])
    #expect(Set(DifferentialTests.differencesOfQueues.values) == ["A10"])
  }

  #if os(Linux)
    @Test("A5 Foundation: an observer of all names and a typed message stop the program")
    func a5Foundation() async {
      await #expect(processExitsWith: .failure) {
        let center = Theirs()
        _ = center.addObserver(forName: nil, object: nil, queue: nil) { _ in }
        center.post(Chimed(number: 1))
      }
    }

    @Test("Foundation: a typed message reaches no observer of its name")
    func typedMessages() async throws {
      let (center, heard) = (Theirs(), Recorder<String>())
      _ = center.addObserver(forName: Chimed.name, object: nil, queue: nil) { _ in
        heard.record("block")
      }
      let token = center.observe(Chimed.name) { _ in heard.record("observer") }
      let typed = center.addObserver(for: Chimed.self) { heard.record("typed \($0.number)") }
      center.post(Chimed(number: 1))
      center.post(Chimed(number: 2), subject: Bell())
      // It is called in a task.
      while try await !heard.next(within: patience).hasPrefix("typed") {}
      #expect(!heard.values.contains("block") && !heard.values.contains("observer"))
      center.removeObserver(typed)
      withExtendedLifetime(token) {}
    }
  #endif

  @Test("A7 only the block is waited for, and not the rest of the queue", arguments: [false, true])
  func a7Drain(isOurs: Bool) {
    let center: any CenterInterface = isOurs ? Ours() : Theirs()
    let (queue, gate, log) = (OperationQueue(), Gate(), Recorder<String>())
    queue.maxConcurrentOperationCount = 2
    let delivered = DispatchSemaphore(value: 0)
    center.add(.tick, queue: queue) { _ in delivered.signal() }
    queue.addOperation { gate.pass() }
    gate.waitUntilReached()
    let wait = onThread(patiently: true) {
      center.post(.tick)
      log.record("returned")
    }
    delivered.waitPatiently()
    if isOurs { wait() }
    log.record("opened")
    gate.open()
    if !isOurs { wait() }
    // Foundation waits for an operation that has nothing to do with it.
    #expect(log.values == (isOurs ? ["returned", "opened"] : ["opened", "returned"]))
  }

  #if os(Linux)
    @Test("A7 Foundation: two queues that post to each other wait for ever")
    func a7Foundation() async {
      await #expect(processExitsWith: .exitCode(3)) {
        let (center, waits) = (Theirs(), LiveCount())
        // The thread waits for the first queue, whose operation waits for the second one, whose
        // operation waits until the first one has none. Who comes last knows that no one can go on.
        let wait: @Sendable () -> Void = {
          let count = waits.value.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
          if count == 3 { exit(3) }
        }
        let (one, two) = (WatchedQueue(wait), WatchedQueue(wait))
        center.add(.tick, queue: one) { _ in center.post(.tock) }
        center.add(.tock, queue: two) { _ in center.post(Notification.Name("Back")) }
        center.add(Notification.Name("Back"), queue: one) { _ in }
        onThread { center.post(.tick) }()
        exit(0)
      }
    }
  #endif

  /// The queues that stand in a circle: plain ones share the threads of all plain queues.
  enum Circle: CaseIterable {
    case plain, withOwnThreads, mainAndPlain, mainAndOwnThread

    var one: OperationQueue {
      switch self {
      case .plain: makePlainQueue()
      case .withOwnThreads: SerialOperationQueue()
      case .mainAndPlain, .mainAndOwnThread: .main
      }
    }

    var two: OperationQueue {
      switch self {
      case .plain, .mainAndPlain: makePlainQueue()
      case .withOwnThreads, .mainAndOwnThread: SerialOperationQueue()
      }
    }

    private func makePlainQueue() -> OperationQueue {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      return queue
    }
  }

  @Test(
    "A7 A to B to A ends, with one-wide queues and with the main queue",
    arguments: Circle.allCases)
  func a7(circle: Circle) {
    let (center, log) = (Ours(), Recorder<String>())
    let (one, two) = (circle.one, circle.two)
    let back = Notification.Name("Back")
    center.add(.tick, queue: one) { [weak center] _ in
      log.record("one")
      center?.post(.tock)
      log.record("one ends")
    }
    center.add(.tock, queue: two) { [weak center] _ in
      log.record("two")
      center?.post(back)
      log.record("two ends")
    }
    center.add(back, queue: one) { _ in
      log.record("back \(OperationQueue.current === one)")
    }
    onThread(patiently: true) { center.post(.tick) }()
    #expect(log.values == ["one", "two", "back true", "two ends", "one ends"])
  }

  @Test("A7 a circle of three queues ends, from many threads at once", arguments: [1, 2, 8])
  func a7Circle(width: Int) {
    let (center, heard) = (Ours(), Recorder<Int>())
    let queues = (0..<3).map { _ in
      SerialOperationQueue()
    }
    for (index, queue) in queues.enumerated() {
      center.add(Notification.Name("\(index)"), queue: queue) { [weak center] notification in
        heard.record(index)
        let rest = notification.number
        guard rest > 0 else { return }
        center?.post(
          name: Notification.Name("\((index + 1) % 3)"), object: nil,
          userInfo: ["number": rest - 1])
      }
    }
    let waits = (0..<width).map { thread in
      onThread(patiently: true) {
        for _ in 0..<8 {
          center.post(
            name: Notification.Name("\(thread % 3)"), object: nil, userInfo: ["number": 5])
        }
      }
    }
    for wait in waits { wait() }
    #expect(heard.count == width * 8 * 6)
  }

  #if os(Linux)
    @Test("A8 Foundation: calls of one asynchronous observer overlap")
    func a8Foundation() async {
      let (center, inbox, gate) = (Theirs(), Inbox<Int>(), AsyncGate())
      let token = center.addObserver(for: Chimed.self) { chimed in
        if chimed.number == 0 { await gate.pass() }
        inbox.record(chimed.number)
      }
      center.post(Chimed(number: 0))
      await gate.waitUntilReached()
      center.post(Chimed(number: 1))
      // The second call ends while the first one is held.
      #expect(await inbox.values(count: 1) == [1])
      gate.open()
      _ = await inbox.values(count: 2)
      center.removeObserver(token)
    }
  #endif

  @Test("A8 ours: calls of one asynchronous observer follow each other, and none after its end")
  func a8() async {
    let (center, inbox, gate) = (Theirs(), Inbox<Int>(), AsyncGate())
    let token = center.notifications(of: Rung.self).observeAsync { rung in
      if rung.number == 0 { await gate.pass() }
      inbox.record(rung.number)
    }
    center.post(Rung(number: 0))
    await gate.waitUntilReached()
    for number in 1..<10 { center.post(Rung(number: number)) }
    #expect(inbox.values.isEmpty)
    gate.open()
    #expect(await inbox.values(count: 10) == Array(0..<10))
    token.cancel()
    center.post(Rung(number: 10))
    _ = await token.cancelAndWait()
    #expect(inbox.values.count == 10)
  }

  #if os(Linux)
    @Test("A9 Foundation: a buffer without room stops the program")
    func a9Foundation() async {
      await #expect(processExitsWith: .failure) {
        let (center, executor) = (Theirs(), ManualExecutor())
        let task = Task(executorPreference: executor) {
          for await _ in center.messages(for: Chimed.self, bufferSize: 0) {}
        }
        // It stops with the first message that finds somebody reading.
        executor.runUntilIdle()
        center.post(Chimed(number: 0))
        executor.runUntilIdle()
        withExtendedLifetime(task) { exit(0) }
      }
    }

    @Test("A9 Foundation: in a task that was canceled before, reading never ends")
    func a9FoundationCanceled() async {
      await #expect(processExitsWith: .exitCode(3)) {
        // In a process of its own, since the task is still there when this returns.
        let hasEnded = endsCanceled { for await _ in Theirs().messages(for: Chimed.self) {} }
        exit(hasEnded ? 0 : 3)
      }
    }
  #endif

  @Test("A9 ours: in a task that was canceled before, reading ends at once")
  func a9Canceled() {
    let center = Theirs()
    #expect(endsCanceled { for await _ in center.notifications(of: .tick).values() {} })
    #expect(endsCanceled { for await _ in center.notifications(of: Rung.self).values() {} })
    #expect(center.registrations.isEmpty)
  }

  @Test("A13 a post makes nothing that nobody hears, and one thing for a hundred observers")
  func a13Nobody() {
    let (center, made, heard) = (Ours(), Recorder<String>(), Recorder<Int>())
    func post(_ name: Notification.Name) {
      center.topics.post(to: name.rawValue, about: nil) {
        made.record(name.rawValue)
        return PostedNotification(Notification(name: name))
      }
    }
    post(.tick)
    for number in 0..<100 { center.add(.tick) { _ in heard.record(number) } }
    post(.tock)
    #expect(made.values.isEmpty)
    post(.tick)
    #expect(made.values == ["Tick"])
    #expect(heard.values == Array(0..<100))
  }

  @Test(
    "A13 no thread waits for another one's post", .timeLimit(.long), arguments: [1, 2, 8])
  func a13Threads(width: Int) {
    let (center, gate, heard) = (Ours(), Gate(), Recorder<Int>())
    center.add(.tick) { notification in
      if notification.number < 0 { gate.pass() }
      heard.record(notification.number)
    }
    let wait = onThread(patiently: true) {
      center.post(name: .tick, object: nil, userInfo: ["number": -1])
    }
    gate.waitUntilReached()
    onThreads(width) { thread in
      for number in 0..<100 {
        let token = center.add(.tick) { _ in }
        center.post(name: .tick, object: nil, userInfo: ["number": number])
        center.removeObserver(token)
      }
    }
    #expect(heard.count == width * 100)
    #expect(!heard.values.contains(-1))
    gate.open()
    wait()
    #expect(heard.values.last == -1)
  }
}

/// Runs `read` in a task that was canceled before, for as long as anything is left to do.
///
/// - Returns: whether it ended.
private func endsCanceled(_ read: @escaping @Sendable () async -> Void) -> Bool {
  let (executor, ended) = (ManualExecutor(), Recorder<Bool>())
  let task = Task(executorPreference: executor) {
    await read()
    ended.record(Task.isCancelled)
  }
  task.cancel()
  executor.runUntilIdle()
  return ended.values == [true]
}
