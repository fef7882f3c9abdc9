import Campanile
import Foundation
import Testing

@testable import CampanileFoundation

@Suite("Delivery on run loops and threads", .ownThread)
struct RunLoopTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()

  @Test("B1 an observer runs on the thread that named itself, in order", arguments: [1, 2, 8])
  func onThread(width: Int) {
    let worker = Worker()
    let done = DispatchSemaphore(value: 0)
    let token = center.observe(Rung.self, on: worker.delivery) { [heard] rung in
      let isThere = worker.withThread { $0 === Thread.current }
      heard.record(isThere ? rung.number : -1)
      if heard.count == width * 200 { done.signal() }
    }
    onThreads(width) { [center] thread in
      for number in 0..<200 { center.post(Rung(number: thread * 1_000 + number)) }
    }
    done.waitPatiently()
    withExtendedLifetime(token) {}
    worker.end()
    expectOrder(of: heard.values, from: width, each: 200)
  }

  @Test("B1 no wake-up is lost, whenever it comes", arguments: [1, 2, 8])
  func wakeUps(width: Int) {
    let worker = Worker()
    onThreads(width) { [heard] _ in
      let (center, done) = (MessageCenter(), DispatchSemaphore(value: 0))
      let token = center.observe(Rung.self, on: worker.delivery) { _ in done.signal() }
      for number in 0..<500 {
        center.post(Rung(number: number))
        // The next post would make up for a lost wake-up.
        if done.wait(timeout: .now() + patience / .seconds(1)) == .timedOut {
          return heard.record(number)
        }
      }
      withExtendedLifetime(token) {}
    }
    #expect(heard.values.isEmpty, "Posts whose wake-ups were lost")
    worker.end()
  }

  @Test("K11 who posts on the thread is delivered to inline, if nothing waits; ordered queues")
  func inline() {
    let worker = Worker()
    let tokens = [
      center.observe(Rung.self, on: worker.delivery) { [heard] in heard.record($0.number) },
      center.observe(Rung.self, on: worker.delivery.ordered) { [heard] in
        heard.record($0.number * 10)
      },
    ]
    worker.run { [center, heard] in
      center.post(Rung(number: 1))
      heard.record(0)
    }
    worker.run {}
    withExtendedLifetime(tokens) {}
    worker.end()
    #expect(heard.values == [1, 0, 10])
  }

  @Test("B3 a thread that has ended is noticed: what waits and what comes is discarded and counted")
  func ended() {
    let (worker, live, runLoop) = (Worker(), LiveCount(), Slot<Locked<RunLoop?>.Shared>())
    let delivery = worker.delivery
    worker.run { runLoop.set(.init(RunLoop.current)) }
    struct Cargo: MessageCenter.Message { let tracked: Tracked }
    let tokens = [
      center.observe(Rung.self, on: delivery) { [heard] in heard.record($0.number) },
      center.observe(Cargo.self, on: delivery) { _ in },
    ]
    let gate = Gate()
    worker.stop {
      // The run loop has no further turn: what comes now waits until the thread ends.
      gate.pass()
    }
    gate.waitUntilReached()
    center.post(Rung(number: 1))
    center.post(Rung(number: 2))
    center.post(Cargo(tracked: Tracked(live)))
    #expect(live.current == 1)
    #expect(delivery.discardedDeliveryCount == 0)
    gate.open()
    worker.waitForEnd()
    #expect(delivery.discardedDeliveryCount == 3)
    #expect(live.current == 0)
    center.post(Rung(number: 3))
    center.post(Rung(number: 4))
    #expect(delivery.discardedDeliveryCount == 5)
    let again = runLoop.value!.value.withLock { Delivery.runLoop($0!) }
    let token = center.observe(Rung.self, on: again) { [heard] in heard.record($0.number) }
    let count = again.discardedDeliveryCount
    center.post(Rung(number: 5))
    #expect(again.discardedDeliveryCount > count)
    withExtendedLifetime((tokens, token)) {}
    #expect(heard.values.isEmpty)
  }

  #if canImport(Glibc)
    @Test("K16 the places of threads that have ended are forgotten")
    func forgotten() {
      // Not Sendable by itself, since a run loop is not: of it nothing but its address is kept, lest
      // the next run loop take its place in the table.
      final class Reference: @unchecked Sendable {
        weak let target: RunLoopTarget?
        private unowned let runLoop: RunLoop
        init(_ runLoop: RunLoop, _ target: RunLoopTarget) {
          self.runLoop = runLoop
          self.target = target
        }
      }
      let references = Recorder<Reference>()
      for _ in 0..<500 {
        onEndedThreads {
          references.record(Reference(.current, .of(.current, modes: [.default])))
        }
      }
      #expect(references.values.count { $0.target != nil } < 250)
    }
  #endif

  @Test("B3 a new thread is not taken for one that has ended")
  func notTheSame() {
    for _ in 0..<20 {
      let worker = Worker()
      let token = center.observe(Rung.self, on: worker.delivery) { [heard] in
        heard.record($0.number)
      }
      center.post(Rung(number: 1))
      worker.run {}
      #expect(worker.delivery.discardedDeliveryCount == 0)
      withExtendedLifetime(token) {}
      worker.end()
    }
    #expect(heard.values == Array(repeating: 1, count: 20))
  }

  @Test("A thread that has named itself can be named from elsewhere, and is one place")
  func named() {
    let worker = Worker()
    let notifications = NotificationCenter()
    let tokens = worker.withThread { thread in
      [
        center.observe(Rung.self, on: .thread(thread)) { [heard] in heard.record($0.number) },
        notifications.observe(.tick, on: worker.delivery) { [heard] in heard.record($0.number) },
      ]
    }
    worker.run { [center, notifications] in
      // Nothing is inline while this runs as a turn of the same place.
      center.post(Rung(number: 1))
      notifications.post(.tick, 2)
    }
    center.post(Rung(number: 3))
    notifications.post(.tick, 4)
    worker.run {}
    withExtendedLifetime(tokens) {}
    worker.end()
    #expect(heard.values == [1, 2, 3, 4])
  }

  @Test(
    "B1 what comes while the thread is busy is one wake-up, for all observers",
    arguments: [1, 2, 8])
  func coalescedWakeUps(width: Int) {
    let (worker, gate) = (Worker(), Gate())
    let target = worker.withThread { RunLoopTarget.of($0) }
    let centers = (0..<width).map { _ in MessageCenter() }
    let tokens = centers.flatMap { center in
      [worker.delivery, worker.delivery.ordered].map { delivery in
        center.observe(Rung.self, on: delivery) { [heard] in heard.record($0.number) }
      }
    }
    worker.delivery.perform { gate.pass() }
    gate.waitUntilReached()
    let before = target.wakeUpCount
    onThreads(width) { thread in
      // Two records for each, and all of them in one turn.
      for number in 0..<50 { centers[thread].post(Rung(number: number)) }
      for _ in 0..<10 { worker.delivery.perform {} }
    }
    #expect(target.wakeUpCount == before)
    gate.open()
    // With the others in the turn that the end of this one asks for.
    worker.run {}
    #expect(heard.count == width * 100)
    // Whether the last one came in time for that turn is the scheduler's to say.
    #expect((1...2).contains(target.wakeUpCount - before))
    withExtendedLifetime((centers, tokens)) {}
    worker.end()
  }

  @Test("B1 what is delivered waits for its mode, without one for the default and common ones")
  func modes() {
    let mode = RunLoop.Mode("CampanileTests")
    TestSupport.onThread { [center, heard] in
      let deliveries: [Delivery] = [
        .runLoop(.current), .thread(.current), .runLoop(.current, modes: [.common]),
        .runLoop(.current, modes: [mode]),
      ]
      let tokens = deliveries.enumerated().map { index, delivery in
        center.observe(Rung.self, on: delivery.ordered) { _ in heard.record(index) }
      }
      center.post(Rung(number: 1))
      for run in [mode, .default] {
        // A source that is due at once, and not ours.
        RunLoop.current.add(Timer(timeInterval: 0, repeats: false) { _ in }, forMode: run)
        _ = RunLoop.current.run(mode: run, before: Date())
        heard.record(-1)
      }
      withExtendedLifetime(tokens) {}
    }()
    #expect(heard.values.prefix(2) == [3, -1])
    #expect(heard.values.dropFirst(2).sorted() == [-1, 0, 1, 2])
  }

  @Test("What is delivered in several modes is delivered in each of them")
  func severalModes() {
    let mode = RunLoop.Mode("CampanileTests")
    for run in [RunLoop.Mode.default, mode] {
      TestSupport.onThread { [center, heard] in
        let delivery = Delivery.runLoop(.current, modes: [.default, mode])
        let token = center.observe(Rung.self, on: delivery.ordered) { [heard] rung in
          heard.record(rung.number)
          stopCurrentRunLoop()
        }
        center.post(Rung(number: 1))
        runCurrentRunLoop(run)
        withExtendedLifetime(token) {}
      }()
    }
    #expect(heard.values == [1, 1])
  }

  @Test("What comes in a turn that has run the run loop in another mode is delivered in either")
  func nestedInAnotherMode() {
    let mode = RunLoop.Mode("CampanileTests")
    TestSupport.onThread { [center, heard] in
      let delivery = Delivery.runLoop(.current, modes: [.default, mode])
      let token = center.observe(Rung.self, on: delivery.ordered) { [center, heard] rung in
        heard.record(rung.number)
        if rung.number == 1 {
          _ = RunLoop.current.run(mode: mode, before: Date())
          center.post(Rung(number: 2))
        }
        stopCurrentRunLoop()
      }
      center.post(Rung(number: 1))
      runCurrentRunLoop()
      if heard.count < 2 { runCurrentRunLoop(mode) }
      withExtendedLifetime(token) {}
    }()
    #expect(heard.values == [1, 2])
  }

  @Test(
    "In a run of the run loop inside a call, only deliveries of the same modes and mailbox wait")
  func nestedInACall() {
    TestSupport.onThread { [center, heard] in
      let (common, other) = (
        Delivery.thread(.current), Delivery.runLoop(.current, modes: [.default])
      )
      // Two calls in the inner run, and two in the outer one.
      let hear = { @Sendable number in
        heard.record(number)
        if heard.count.isMultiple(of: 2) { stopCurrentRunLoop() }
      }
      let tokens = [
        center.observe(Rung.self, on: common) { rung in
          runCurrentRunLoop()
          hear(10 + rung.number)
        },
        center.observe(Rung.self, on: common.ordered) { hear(20 + $0.number) },
        center.observe(Rung.self, on: other.ordered) { hear(30 + $0.number) },
        center.observe(Rung.self, on: common.buffered(.newest(8))) { hear(40 + $0.number) },
      ]
      center.post(Rung(number: 1))
      runCurrentRunLoop()
      withExtendedLifetime(tokens) {}
    }()
    #expect(Set(heard.values.prefix(2)) == [31, 41])
    #expect(heard.values.dropFirst(2) == [11, 21])
  }

  @Test("A thread that has not named itself, and no modes, are precondition failures")
  func preconditions() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let (ready, never) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let thread = Thread {
          ready.signal()
          never.wait()
        }
        thread.start()
        ready.wait()
        _ = Delivery.thread(thread)
      },
      says: "A delivery named another thread")
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Delivery.runLoop(.main, modes: [])
      },
      says: "was given no mode")
  }

  @Test("Descriptions name the modes")
  func description() {
    #expect(Delivery.runLoop(.main).description.hasPrefix(".runLoop("))
    #expect(Delivery.thread(.mainThread).description == Delivery.runLoop(.main).description)
  }
}
