import Dispatch
import Testing

@testable import Campanile

/// Observers that do what no observer should.
@Suite("Faulty observers", .ownThread)
struct FaultTests {
  private let heard = Recorder<String>()
  private let center = MessageCenter()
  private let failures: Recorder<ObserverFailure>

  init() { failures = Recorder(observing: center.failures) }

  @Test("K13 One that throws, on every delivery, is told of, and the others are called")
  func throwing() {
    let target = ManualTarget()
    let deliveries: [Delivery] = [.immediate, .target(target), .target(target).ordered]
    var tokens: [ObservationToken] = []
    for (index, delivery) in deliveries.enumerated() {
      tokens.append(center.observe(Tick.self, on: delivery) { _ in throw TestFailure() })
      tokens.append(
        center.observe(Tick.self, on: delivery) { [heard] _ in heard.record("\(index)") })
    }
    tokens.append(
      center.observe(Tick.self, on: .target(target, buffering: .newest(1))) { _ in
        throw TestFailure()
      })
    for number in 0..<2 {
      center.post(Tick(number: number))
      target.runJobs()
    }
    #expect(heard.values.sorted() == ["0", "0", "1", "1", "2", "2"])
    #expect(failures.count == 8)
    withExtendedLifetime(tokens) {}
  }

  @Test("K3 K10 One that blocks holds up its own queue and nobody else", arguments: widths)
  func blocking(width: Int) {
    let queues = [TestQueue("blocked"), TestQueue("free")]
    let gate = Gate()
    let others = LiveCount()
    let blocking = center.observe(Tick.self, on: queues[0].delivery) { _ in gate.pass() }
    let tokens = [
      center.observe(Tick.self) { _ in others.increment() },
      center.observe(Tick.self, on: queues[1].delivery) { _ in others.increment() },
    ]
    center.post(Tick(number: 0))
    gate.waitUntilReached()
    onThreads(width) { index in center.post(Tick(number: index)) }
    queues[1].flush()
    #expect(others.current == 2 * (width + 1))
    #expect(blocking.cancel() == .endedWhileMaybeRunning)
    gate.open()
    queues[0].flush()
    withExtendedLifetime(tokens) {}
  }

  @Test("One that traps ends the process with a sentence of its own")
  func trapping() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let center = MessageCenter()
      let queue = DispatchQueue(label: "traps")
      let token = center.observe(Tick.self, on: .queue(queue)) { message in
        fatalError("observer number \(message.number) traps")
      }
      center.post(Tick(number: 7))
      try await center.postAndWait(Tick(number: 8))
      withExtendedLifetime(token) {}
    }
    expect(result, says: "observer number 7 traps")
  }

  @Test("K8 One whose owner another thread releases in mid-call keeps it to the end of the call")
  func ownerReleasedElsewhere() {
    let life = LiveCount()
    let gate = Gate()
    let owner = Slot<Tracked>()
    owner.set(Tracked(life))
    center.observe(Tick.self, owner: owner.value!) { [heard] owner, _ in
      gate.pass()
      owner.touch()
      heard.record("\(owner.count.current)")
    }
    let poster = onThread { [center] in center.post(Tick(number: 0)) }
    gate.waitUntilReached()
    onThread { owner.set(nil) }()
    #expect(life.current == 1)
    gate.open()
    poster()
    #expect(heard.values == ["1"])
    #expect(life.current == 0)
    center.post(Tick(number: 1))
    #expect(heard.count == 1)
    #expect(center.observerCount == 0)
  }

  @Test("One that ends its own target hears no more, and what waited there is counted")
  func endsItsTarget() {
    let target = ManualTarget()
    let token = center.observe(Tick.self, on: .target(target)) { [heard] message in
      heard.record("\(message.number)")
      if message.number == 0 { target.end() }
    }
    for number in 0..<3 { center.post(Tick(number: number)) }
    // The job that runs has its messages already; it delivers them.
    target.runJobs()
    #expect(heard.values == ["0", "1", "2"])
    center.post(Tick(number: 3))
    #expect(heard.count == 3)
    #expect(target.mailbox.discardedCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test("K11 One that lets go of its own queue is called there to the end")
  func releasesItsQueue() async throws {
    let slot = Slot<DispatchQueue>()
    slot.set(DispatchQueue(label: "released"))
    let key = DispatchSpecificKey<Bool>()
    slot.value?.setSpecific(key: key, value: true)
    let token = center.observe(Tick.self, on: .queue(slot.value!).ordered) { [heard] message in
      slot.set(nil)
      if DispatchQueue.getSpecific(key: key) == true { heard.record("\(message.number)") }
    }
    try await center.postAndWait(Tick(number: 0))
    try await center.postAndWait(Tick(number: 1))
    #expect(heard.values == ["0", "1"])
    withExtendedLifetime(token) {}
  }

  @Test("K10 Who waits for one that never returns can give up, and posts are not held up")
  func neverReturns() async throws {
    let queue = TestQueue()
    let gate = Gate()
    let token = center.observe(Tick.self, on: queue.delivery) { _ in gate.pass() }
    let waiting = Task { [center] in try await center.postAndWait(Tick(number: 0)) }
    try await gate.reached(within: patience)
    waiting.cancel()
    // It throws while the observer is still in its call.
    await #expect(throws: CancellationError.self) { try await waiting.value }
    center.post(Tick(number: 1))
    token.cancel()
    gate.open()
    queue.flush()
  }
}
