import Testing

@testable import Campanile

@Suite("Delivery targets of one's own", .ownThread)
struct DeliveryTargetTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let target = ManualTarget()

  @Test(
    "K9 an actor is not taken for one that died at its address and whose target is still in use")
  func successor() async throws {
    let center = MessageCenter()
    var reused = 0
    for number in 0..<20 {
      let heard = Recorder<Int>()
      var actors: [Statistics] = []
      // Before the first one dies, so that nothing else takes its memory.
      actors.reserveCapacity(100)
      var first = Statistics?.some(Statistics())
      let address = ObjectIdentifier(first!)
      // Kept as by a job that has not begun. A registration would reserve the address.
      let target = TaskTarget.of(first!)
      first = nil
      repeat {
        actors.append(Statistics())
      } while ObjectIdentifier(actors[actors.count - 1]) != address && actors.count < 100
      let statistics = actors[actors.count - 1]
      if ObjectIdentifier(statistics) == address { reused += 1 }
      center.observe(Tick.self, on: statistics) { _, tick in heard.record(tick.number) }
      center.post(Tick(number: number))
      try await heard.expect(number, within: patience)
      withExtendedLifetime((actors, target)) {}
    }
    #if WEAK_OWNERS
      if reusesAddresses() { #expect(reused > 0) }
    #else
      // The reference of the target reserves the memory.
      #expect(reused == 0)
    #endif
  }

  @Test("A target runs its jobs when it likes, and is woken once for a burst")
  func burst() {
    let tokens = (0..<3).map { _ in
      center.observe(Tick.self, on: .target(target)) { [heard] in heard.record($0.number) }
    }
    for number in 0..<3 { center.post(Tick(number: number)) }
    #expect(heard.values.isEmpty)
    #expect(target.enqueuedCount == 1)
    target.runJobs()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [0, 0, 0, 1, 1, 1, 2, 2, 2])
    #expect(target.enqueuedCount == 1)
  }

  @Test("A target that cannot tell always queues")
  func defaults() {
    final class Plain: DeliveryTarget {
      let mailbox = Mailbox()
      let jobs = Recorder<DeliveryJob>()
      func enqueue(_ job: DeliveryJob) { jobs.record(job) }
    }
    let plain = Plain()
    let token = center.observe(Tick.self, on: .target(plain)) { [heard] in heard.record($0.number) }
    center.post(Tick(number: 1))
    #expect(!plain.isCurrent)
    #expect(plain.deliveryName == "Plain")
    #expect(heard.values.isEmpty)
    for job in plain.jobs.values { job.run() }
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("Running a job twice delivers once")
  func twice() {
    let token = center.observe(Tick.self, on: .target(target)) { [heard] in heard.record($0.number)
    }
    center.post(Tick(number: 1))
    let job = target.takeJob()
    job?.run()
    job?.run()
    #expect(heard.values == [1])
    center.post(Tick(number: 2))
    target.runJobs()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, 2])
  }

  @Test("K6 a post from an observer on the target is delivered after it, by the job that runs")
  func nested() {
    let token = center.observe(Tick.self, on: .target(target)) { [center, heard] tick in
      heard.record(tick.number)
      if tick.number < 3 { center.post(Tick(number: tick.number + 1)) }
      heard.record(-tick.number)
    }
    center.post(Tick(number: 1))
    target.runJobs()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1, -1, 2, -2, 3, -3])
    #expect(target.enqueuedCount == 1)
  }

  @Test("A target that has ended discards what waits and what comes, and counts it")
  func ended() {
    let token = center.observe(Tick.self, on: .target(target)) { [heard] in heard.record($0.number)
    }
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    target.end()
    #expect(target.mailbox.discardedCount == 2)
    center.post(Tick(number: 3))
    #expect(target.mailbox.discardedCount == 3)
    withExtendedLifetime(token) {}
    #expect(heard.values.isEmpty)
  }

  @Test("What a bounded observer had waiting on an ended target counts as dropped")
  func endedBounded() {
    let token = center.observe(Tick.self, on: .target(target, buffering: .newest(2))) {
      [heard] in heard.record($0.number)
    }
    for number in 0..<3 { center.post(Tick(number: number)) }
    target.end()
    #expect(token.registration.droppedCount == 3)
    #expect(heard.values.isEmpty)
  }

  @Test(
    "K8 What an ended target discards ends the registrations of dead owners, and no others",
    arguments: [Buffering.unbounded, .newest(1)])
  func discardedOwners(buffering: Buffering) {
    let neighbor = center.observe(Tick.self) { [heard] in heard.record($0.number) }
    let waiting = center.observe(Tick.self, on: .target(target)) { _ in }
    let slot = Slot<Screen>()
    slot.set(Screen())
    let registration = center.observe(
      Tick.self, owner: slot.value!, on: .target(target, buffering: buffering)
    ) { _, _ in }
    center.post(Tick(number: 1))
    slot.set(nil)
    #expect(registration.isKept)
    target.end()
    #expect(!registration.isKept)
    #expect(neighbor.isActive && waiting.isActive)
    center.post(Tick(number: 2))
    #expect(heard.values == [1, 2])
    withExtendedLifetime((neighbor, waiting)) {}
  }

  #if DEBUG
  #endif

  @Test(
    "K6 A job that was run to its end one by one discards nothing that comes later",
    arguments: [Buffering.unbounded, .newest(4)])
  func runToItsEnd(buffering: Buffering) {
    let token = center.observe(Tick.self, on: .target(target, buffering: buffering)) {
      [heard] in heard.record($0.number)
    }
    for number in 1...2 { center.post(Tick(number: number)) }
    var job = target.takeJob()
    #expect(job?.run(atMost: 1) == true)
    #expect(job?.run(atMost: 1) == false)
    job = target.takeJob()
    #expect(job?.run(atMost: 1) == true)
    center.post(Tick(number: 3))
    job = nil
    target.runJobs()
    #expect(heard.values == [1, 2, 3])
    #expect(target.mailbox.discardedCount + token.registration.droppedCount == 0)
  }

  @Test("K6 Deliveries that are made one by one and all at once lose none, and keep their order")
  func alternating() {
    let token = center.observe(Tick.self, on: .target(target)) { [heard] in heard.record($0.number)
    }
    for round in 0..<40 {
      for number in 0..<4 { center.post(Tick(number: round * 4 + number)) }
      for _ in 0..<(round % 5) { target.runNext() }
      target.runJobs()
      #expect(heard.count == round * 4 + 4)
    }
    withExtendedLifetime(token) {}
    #expect(heard.values == Array(0..<160))
  }
}
