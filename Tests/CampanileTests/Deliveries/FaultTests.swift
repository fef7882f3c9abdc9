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
}
