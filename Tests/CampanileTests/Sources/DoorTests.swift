import Testing

@testable import Campanile

/// What every form of observing promises at every kind of source.
@Suite("Every form at every source", .ownThread)
struct DoorTests {
  private let heard = Recorder<Int>()

  private func record() -> @Sendable (Int) -> Void { { [heard] in heard.record($0) } }

  @Test(
    "K1 K3 K6 C2 E2 E4 H1 Each number is heard once, in order, at its place, and none after the end",
    arguments: NumberSource.Kind.allCases, Form.allCases)
  func hears(kind: NumberSource.Kind, form: Form) async {
    let source = NumberSource(kind)
    let registration = source.observe(form, record())
    #expect(registration.isActive)
    #expect(source.observerCount() ?? 1 == 1)
    for number in 1...3 { source.send(number) }
    let numbers = await heard.values(count: 3)
    #expect(numbers == [1, 2, 3])
    #expect(await registration.cancelAndWait() == .finished)
    #expect(registration.cancel() == .alreadyEnded)
    #expect(!registration.isActive)
    #expect(source.observerCount() ?? 0 == 0)
    source.send(4)
    await source.settle()
    #expect(heard.count == 3)
  }

  @Test(
    "K5 G4 All hear a number in the order they registered, and one that has ended not at all",
    arguments: NumberSource.Kind.allCases, [Form.immediate, .queued, .ordered, .main, .actor])
  func order(kind: NumberSource.Kind, form: Form) async {
    let source = NumberSource(kind)
    let registrations = (1...4).map { factor in
      source.observe(form) { [heard] in heard.record($0 * factor) }
    }
    registrations[1].cancel()
    for number in [1, 10] { source.send(number) }
    #expect(await heard.values(count: 6) == [1, 3, 4, 10, 30, 40])
  }

  @Test(
    "K3 Once is once, from however many threads, and what was captured goes with the call",
    arguments: NumberSource.Kind.allCases, Form.allCases)
  func once(kind: NumberSource.Kind, form: Form) async {
    for width in [1, 8] {
      let (source, heard, released) = (NumberSource(kind), Recorder<Int>(), Inbox<Int>())
      let registration = source.observe(form, once: true) {
        [held = OnRelease { released.record(1) }] in
        held.touch()
        heard.record($0)
      }
      onThreads(width) { source.send($0 + 1) }
      _ = await heard.values(count: 1)
      source.send(9)
      _ = await registration.cancelAndWait()
      await source.settle()
      #expect(heard.count == 1)
      #expect(!registration.isActive)
      #expect(source.observerCount() ?? 0 == 0)
      #expect(await released.values(count: 1) == [1])
    }
  }

  @Test(
    "K8 D8 G2 An owner is held weakly, and nothing is heard after its end",
    arguments: NumberSource.Kind.allCases, Form.withOwner)
  func owner(kind: NumberSource.Kind, form: Form) async {
    let source = NumberSource(kind)
    weak let owner = form == .actor ? nil : source.owner.value
    weak let actor = source.actor.value
    let registration = source.observe(form, record())
    source.send(1)
    _ = await heard.values(count: 1)
    await source.settle()
    source.owner.set(nil)
    source.actor.set(nil)
    // The task of a call may keep its owner a moment longer than the call takes.
    await eventually { owner == nil && actor == nil }
    #expect(source.observerCount() ?? 0 == 0)
    source.send(2)
    await source.settle()
    await eventually { !registration.isActive }
    #expect(heard.values == [1])
  }

  @Test(
    "K8 B2 C4 D5 What is queued when the owner dies is not delivered, and does not keep it",
    arguments: NumberSource.Kind.allCases)
  func queuedForTheDead(kind: NumberSource.Kind) {
    let source = NumberSource(kind)
    source.observe(.ownedAtQueue, record())
    weak let owner = source.owner.value
    source.queue.hold()
    source.send(1)
    source.owner.set(nil)
    #expect(owner == nil)
    source.queue.letGo()
    source.queue.flush()
    #expect(heard.values.isEmpty)
  }

  @Test(
    "K3 finish() ends all observations, delivers nothing that is queued, and lets nobody in later",
    arguments: NumberSource.Kind.allCases)
  func finish(kind: NumberSource.Kind) throws {
    let (source, leaks) = (NumberSource(kind), LeakTracker())
    func observe(_ form: Form) -> Registration {
      source.observe(form) { [heard, probe = leaks.makeProbe("\(form)")] in
        probe.touch()
        heard.record($0)
      }
    }
    let queued = Form.atQueue.map(observe)
    source.queue.hold()
    source.send(1)
    let others = Form.allCases.filter { !Form.atQueue.contains($0) }.map(observe)
    source.finish()
    source.queue.letGo()
    source.queue.flush()
    #expect((queued + others).allSatisfy { !$0.isActive && $0.cancel() == .alreadyEnded })
    try leaks.expectGone()
    for form in Form.allCases { #expect(!observe(form).isActive, "\(form)") }
    source.send(2)
    source.finish()
    source.queue.flush()
    #expect(source.observerCount() ?? 0 == 0)
    try leaks.expectGone()
    #expect(heard.values.isEmpty)
  }

  @Test(
    "K16 The end of a source ends its observations and releases what they captured",
    arguments: NumberSource.Kind.allCases)
  func released(kind: NumberSource.Kind) throws {
    let (bag, leaks) = (TokenBag(), LeakTracker())
    func observe() -> [Registration] {
      let source = NumberSource(kind, bag: bag)
      return Form.allCases.map { form in
        source.observe(form) { [probe = leaks.makeProbe("\(form)")] _ in probe.touch() }
      }
    }
    let registrations = observe()
    #expect(registrations.allSatisfy { !$0.isActive })
    try leaks.expectGone()
  }

  @Test(
    "K13 What an observer throws is reported with its line, and stops nobody else",
    arguments: NumberSource.Kind.allCases, Form.allCases)
  func throwing(kind: NumberSource.Kind, form: Form) async throws {
    for isOnce in [false, true] {
      let (source, heard) = (NumberSource(kind), Recorder<Int>())
      let failures = Recorder(observing: source.failures)
      let registration = source.observe(form, once: isOnce, line: 7) { _ in throw TestFailure() }
      source.observe(form) { heard.record($0) }
      for number in 1...2 { source.send(number) }
      #expect(await heard.values(count: 2).sorted() == [1, 2])
      let reported = try await failures.next(isOnce ? 1 : 2, within: patience)
      #expect(reported.allSatisfy { $0.line == 7 && $0.error as? TestFailure == TestFailure() })
      _ = await registration.cancelAndWait()
      try failures.expectNothingMore()
      #expect(!registration.isActive)
    }
  }

  @Test(
    "A11 D2 Removal by owner ends what that owner bounds, and nothing else",
    arguments: NumberSource.Kind.plain)
  func removal(kind: NumberSource.Kind) {
    let source = NumberSource(kind)
    let registrations = Form.allCases.map { source.observe($0, record()) }
    source.removeObservers(Screen())
    #expect(registrations.allSatisfy { $0.isActive })
    source.removeObservers(source.owner.value!)
    for (form, registration) in zip(Form.allCases, registrations) {
      let isActors = form == .actor
      #expect(registration.isActive == (!form.hasOwner || isActors), "\(form)")
    }
    source.removeObservers(source.actor.value!)
    #expect(registrations.map(\.isActive) == Form.allCases.map { !$0.hasOwner })
  }

  @Test(
    "K3 K14 G6 A pause skips what comes; a state tells at its end the newest that was missed",
    arguments: NumberSource.Kind.allCases, Form.allCases)
  func pause(kind: NumberSource.Kind, form: Form) async throws {
    let source = NumberSource(kind)
    let registration = source.observe(form, record())
    for _ in 0..<2 { registration.pause() }
    #expect(registration.isPaused)
    for number in 1...3 { try await source.sendAndWait(number) }
    registration.resume()
    try await source.sendAndWait(4)
    await source.settle()
    #expect(registration.isPaused)
    #expect(heard.count == 0)
    for _ in 0..<2 { registration.resume() }
    #expect(!registration.isPaused)
    if kind.isState { await eventually { heard.values.last == 4 } }
    source.send(5)
    await eventually { heard.values.last == 5 }
    // A place that begins after the pause may take what was set during it one by one.
    #expect(kind.isState ? heard.values.suffix(2) == [4, 5] : heard.values == [5])
  }

  @Test(
    "K6 C3 E7 Sends of many threads all arrive, each thread's in order",
    arguments: NumberSource.Kind.allCases, Form.allCases)
  func threads(kind: NumberSource.Kind, form: Form) async {
    for width in [2, 8] {
      let (source, heard, overlap) = (NumberSource(kind), Recorder<Int>(), OverlapDetector())
      source.observe(form) { number in overlap.run { heard.record(number) } }
      onThreads(width) { thread in
        for number in 1...40 { source.send(thread * 100 + number) }
      }
      let numbers = await heard.values(count: width * 40)
      #expect(numbers.count == width * 40)
      for thread in 0..<width {
        let own = numbers.filter { $0 / 100 == thread }
        #expect(own == (1...40).map { thread * 100 + $0 })
      }
      // Threads that send at once call an immediate observer at once, but for the followers of a
      // state.
      let mayOverlap = !kind.isState && !form.isQueued
      if !mayOverlap { #expect(!overlap.hasOverlapped) }
    }
  }

  @Test(
    "K10 Who sends and waits goes on when every observer has returned",
    arguments: NumberSource.Kind.withoutState)
  func waits(kind: NumberSource.Kind) async throws {
    let source = NumberSource(kind)
    for form in Form.allCases { source.observe(form, record()) }
    for number in 1...10 {
      try await source.sendAndWait(number)
      #expect(heard.values.suffix(Form.allCases.count) == Form.allCases.map { _ in number })
    }
    #expect(heard.count == 10 * Form.allCases.count)
  }
}

extension Form {
  /// Whether it is called elsewhere than where a number is sent.
  fileprivate var isQueued: Bool { self != .immediate && self != .owned }
}
