import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

/// What Foundation's center does where it can be shown, and what ours does; the rest is in the table of
/// differences.
@Suite("Seeds A: Foundation's center and ours")
struct SeedACenterTests {
  typealias Theirs = Foundation.NotificationCenter
  typealias Ours = CampanileNotificationCenter.NotificationCenter

  @Test("A1 A2 A3 A4 A6 A10 every one of these rows is a difference in the tables")
  func inTheTables() {
    let rows = Set(
      (DifferentialTests.differences + NotificationQueueDifferentialTests.differences).map(\.row))
    for row in ["A1", "A2", "A3", "A4", "A6", "A7", "A10"] { #expect(rows.contains(row)) }
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
  #endif

  @Test("A5 ours: an observer of all names and typed notifications live on one center")
  func a5() {
    let (center, heard) = (Ours(), Recorder<String>())
    _ = center.addObserver(forName: nil, object: nil, queue: nil) { heard.record($0.name.rawValue) }
    center.post(Rung(number: 1).notification())
    center.post(name: .tick, object: nil)
    #expect(heard.values == ["Rung", "Tick"])
  }

  @Test("A7 only the block is waited for, and not the rest of the queue", arguments: [false, true])
  func a7Drain(isOurs: Bool) {
    let center: any CenterInterface = isOurs ? Ours() : Theirs()
    let (queue, gate, log) = (OperationQueue(), Gate(), Recorder<String>())
    queue.maxConcurrentOperationCount = 2
    let delivered = DispatchSemaphore(value: 0)
    center.add(.tick, queue: queue) { _ in delivered.signal() }
    queue.addOperation { gate.pass() }
    gate.waitUntilReached()
    let wait = onThread {
      center.post(.tick)
      log.record("returned")
    }
    delivered.wait()
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
        let (center, one, two) = (Theirs(), SerialOperationQueue(), SerialOperationQueue())
        center.add(.tick, queue: one) { _ in center.post(.tock) }
        center.add(.tock, queue: two) { _ in center.post(Notification.Name("Back")) }
        center.add(Notification.Name("Back"), queue: one) { _ in }
        let done = DispatchSemaphore(value: 0)
        _ = onThread {
          center.post(.tick)
          done.signal()
        }
        // That something never ends can only be shown by having waited.
        exit(done.wait(timeout: .now() + 0.5) == .timedOut ? 3 : 0)
      }
    }
  #endif

  @Test("A7 A to B to A ends, with queues and with the main queue", arguments: [false, true])
  func a7(withMain: Bool) {
    let (center, log) = (Ours(), Recorder<String>())
    let one = withMain ? OperationQueue.main : SerialOperationQueue()
    let two = SerialOperationQueue()
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
    onThread { center.post(.tick) }()
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
    onThreads(width) { thread in
      for _ in 0..<8 {
        center.post(
          name: Notification.Name("\(thread % 3)"), object: nil, userInfo: ["number": 5])
      }
    }
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
    await token.cancelAndFinish()
    #expect(inbox.values.count == 10)
  }

  #if os(Linux)
    @Test("A9 Foundation: a buffer without room stops the program")
    func a9Foundation() async {
      await #expect(processExitsWith: .failure) {
        let center = Theirs()
        _ = onThread {
          // It stops with the first message that finds somebody reading.
          for number in 0..<1_000_000 { center.post(Chimed(number: number)) }
          exit(0)
        }
        for await _ in center.messages(for: Chimed.self, bufferSize: 0) {}
      }
    }

    @Test("A9 Foundation: in a task that was canceled before, reading never ends")
    func a9FoundationCanceled() async {
      await #expect(processExitsWith: .exitCode(3)) {
        let (center, gate) = (Theirs(), AsyncGate())
        let task = Task {
          await gate.pass()
          for await _ in center.messages(for: Chimed.self) {}
        }
        await gate.waitUntilReached()
        task.cancel()
        gate.open()
        let ended = DispatchSemaphore(value: 0)
        Task.detached {
          await task.value
          ended.signal()
        }
        // As above.
        onThread { exit(ended.wait(timeout: .now() + 0.5) == .timedOut ? 3 : 0) }()
      }
    }
  #endif

  @Test("A9 ours: reading in a canceled task ends at once; of a dead object nothing is heard")
  func a9() async {
    let (center, gate, read) = (Theirs(), AsyncGate(), Recorder<Int>())
    func ofNobody() -> ValueSequence<PostedNotification> {
      center.notifications(of: .tick, object: Bell()).values()
    }
    let values = ofNobody()
    for _ in 0..<100 { center.post(name: .tick, object: Bell()) }
    let task = Task {
      await gate.pass()
      for await notification in values { read.record(notification["number"] ?? 0) }
    }
    await gate.waitUntilReached()
    task.cancel()
    gate.open()
    await task.value
    #expect(read.values.isEmpty)
  }

  @Test("A9 ours: a buffer without room is a clear precondition failure")
  func a9Buffer() async {
    await #expect(processExitsWith: .failure) {
      _ = Theirs().notifications(of: .tick).values(buffering: .newest(0))
    }
  }
}
