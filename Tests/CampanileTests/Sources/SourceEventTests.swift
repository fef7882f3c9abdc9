import Testing

@testable import Campanile

@Suite("K15: what happens at a source", .ownThread)
struct SourceEventTests {
  private func count(_ kind: SourceEvent.Kind, in events: Recorder<SourceEvent>) -> Int {
    events.values.count { $0.kind == kind }
  }

  @Test("Events that are first asked for after their source has closed have ended")
  func afterTheEnd() {
    var registry: ObserverRegistry? = ObserverRegistry()
    registry?.finishReports()
    let events = registry?.events
    let token = events?.observe { _ in }
    #expect(token?.isActive == false)
    // Nothing asks the registry, which goes now.
    registry = nil
    token?.cancel()
    #expect(events?.observe { _ in }.isActive == false)
  }

  @Test("K15 a center reports posts, calls, registrations and ends")
  func center() {
    let center = MessageCenter()
    let events = Recorder(observing: center.events)
    let line: UInt = #line + 1
    let token = center.observe(Tick.self) { _ in }
    center.post(Tick(number: 1))
    token.cancel()
    center.post(Tick(number: 2))
    #expect(
      events.values.map(\.kind) == [
        .registered, .posted, .called, .returned, .postReturned, .ended, .posted, .postReturned,
      ])
    #expect(events.values.allSatisfy { $0.valueType == Tick.self })
    #expect(
      events.values.map(\.line) == [Int(line), nil, Int(line), Int(line), nil, Int(line), nil, nil])
  }

  @Test("K7 K15 an observer of the events may use the source, whatever it is given")
  func reentrant() {
    let events = Recorder<SourceEvent>()
    let slot = Slot<MessageCenter>()
    let kinds: [SourceEvent.Kind] = [
      .registered, .posted, .called, .returned, .postReturned, .ended,
    ]
    let center = MessageCenter()
    let watch = center.events.observe { event in
      events.record(event)
      if event.valueType == Tock.self { return }
      slot.value?.observe(Tock.self) { _ in }.cancel()
      slot.value?.post(Tock())
      #expect((0...1).contains(slot.value?.observerCount ?? 0))
    }
    slot.set(center)
    let token = center.observe(Tick.self) { _ in }
    center.post(Tick(number: 1))
    token.cancel()
    slot.set(nil)
    withExtendedLifetime(watch) {}
    #expect(events.values.filter { $0.valueType == Tick.self }.map(\.kind) == kinds)
    // At each of those six, one Tock was registered and ended, and posted to nobody.
    #expect(events.values.count { $0.valueType == Tock.self } == 24)
  }

  @Test("K15 a post that nobody hears is reported, and each call once, wherever it is made")
  func everyPost() async throws {
    let (center, ticks) = (MessageCenter(), Broadcaster<Int>())
    let events = Recorder(observing: center.events)
    let watch = ticks.events.observe { events.record($0) }
    center.post(Tick(number: 1))
    center.post(LevelChanged(level: 1), about: Player())
    ticks.send(1)
    #expect(count(.posted, in: events) == 3)
    #expect(count(.postReturned, in: events) == 3)
    #expect(events.count == 6)
    let queue = TestQueue()
    let tokens = [
      center.observe(Tick.self) { _ in },
      center.observe(Tick.self, on: queue.delivery) { _ in },
      center.observe(Tick.self, on: queue.delivery.buffered(.newest(1))) { _ in },
      center.observe(Tick.self, options: .once) { _ in },
      center.messages(of: Tick.self).observeAsync { _ in },
      center.messages(of: Tick.self).observeAsync(buffering: .newest(1)) { _ in },
      center.anyMessage.observe { _ in },
    ]
    #expect(count(.registered, in: events) == 7)
    try await center.postAndWait(Tick(number: 2))
    #expect(count(.posted, in: events) == 4)
    #expect(count(.called, in: events) == 7)
    for token in tokens { token.cancel() }
    #expect(count(.ended, in: events) == 7)
    // Nobody is there any more, and the lists are.
    center.post(Tick(number: 3))
    #expect(count(.posted, in: events) == 5)
    withExtendedLifetime(watch) {}
  }

  @Test("K15 events are observed at any time, the observers that are there already included")
  func livingObservers() {
    let (center, player, queue) = (MessageCenter(), Player(), ManualTarget())
    let first = #line + 2
    let tokens = [
      center.observe(LevelChanged.self) { _ in },
      center.messages(of: LevelChanged.self, about: player).observe { _ in },
      center.observe(LevelChanged.self, on: .target(queue)) { _ in },
      center.observe(LevelChanged.self, on: .target(queue).ordered) { _ in },
      center.anyMessage.observe { _ in },
    ]
    center.post(LevelChanged(level: 1), about: player)
    let events = Recorder(observing: center.events)
    // What waits is called from here on.
    queue.runAll()
    #expect(events.values.map(\.kind) == [.called, .returned, .called, .returned])
    center.post(LevelChanged(level: 2), about: player)
    queue.runAll()
    #expect(count(.posted, in: events) == 1)
    let lines = events.values.filter { $0.kind == .called }.compactMap(\.line)
    #expect(Set(lines) == Set(first..<first + 5))
    #expect(lines.count == 7)
    events.stop()
    let countBefore = events.count
    center.post(LevelChanged(level: 3), about: player)
    queue.runAll()
    #expect(events.count == countBefore)
    withExtendedLifetime(tokens) {}
  }

  @Test("K15 a call that runs inline on its target is reported")
  func inlineCalls() {
    let (center, queue) = (MessageCenter(), ManualTarget())
    let token = center.observe(Tick.self, on: .target(queue)) { _ in }
    let events = Recorder(observing: center.events)
    queue.run { center.post(Tick(number: 1)) }
    #expect(events.values.map(\.kind) == [.posted, .called, .returned, .postReturned])
    withExtendedLifetime(token) {}
  }

  @Test("K13 K15 the failure of a follower is reported, although the follower has ended")
  func failuresAtTheEnd() async throws {
    let state = CurrentValue(0)
    let events = Recorder<SourceEvent.Kind>()
    let watch = state.events.observe { events.record($0.kind) }
    let failures = Recorder(observing: state.failures.map { _ in "failed" })
    let own = Slot<ObservationToken>()
    own.set(
      state.observe(options: .distinct) { _ in
        own.value?.cancel()
        throw TestFailure()
      })
    state.value = 1
    #expect(events.values.count { $0 == .failed } == 1)
    let once = state.observeAsync(options: .once) { _ in throw TestFailure() }
    state.value = 2
    try await failures.expect("failed", "failed", within: patience)
    #expect(events.values.count { $0 == .failed } == 2)
    withExtendedLifetime((watch, once)) {}
  }

  @Test("K2 K15 who registers while a post is reported hears the next one")
  func registeredInReport() {
    let (ticks, tocks, heard) = (Broadcaster<Int>(), MessageCenter(), Recorder<String>())
    let tokens = TokenBag()
    let watches = [
      ticks.events.observe { event in
        guard event.kind == .posted, heard.values.isEmpty else { return }
        ticks.observe { heard.record("broadcaster \($0)") }.store(in: tokens)
      },
      tocks.events.observe { event in
        guard event.kind == .posted, heard.values.isEmpty else { return }
        tocks.observe(Tick.self) { heard.record("center \($0.number)") }.store(in: tokens)
      },
    ]
    let first = (ticks.observe { _ in }, tocks.observe(Tick.self) { _ in })
    ticks.send(1)
    tocks.post(Tick(number: 1))
    #expect(heard.values.isEmpty)
    ticks.send(2)
    #expect(heard.values == ["broadcaster 2"])
    tocks.post(Tick(number: 2))
    #expect(heard.values == ["broadcaster 2", "center 2"])
    withExtendedLifetime((watches, first)) {}
  }

  @Test("K15 several observe the events side by side, and while nobody does they are off")
  func sideBySide() {
    let center = MessageCenter()
    let events = center.events
    #expect(!center.registry.isReporting)
    let first = Recorder(observing: events)
    let second = Recorder(observing: events)
    let owner = Screen()
    let owned = events.observe(owner: owner) { screen, _ in screen.heard.record(1) }
    center.post(Tick(number: 1))
    first.stop()
    center.post(Tick(number: 2))
    #expect(center.registry.isReporting)
    second.stop()
    center.post(Tick(number: 3))
    owned.cancel()
    center.post(Tick(number: 4))
    #expect(!center.registry.isReporting)
    // A post that nobody hears is two events.
    #expect(first.count == 2)
    #expect(second.count == 4)
    #expect(owner.heard.count == 6)
  }

  @Test("K15 observations of the events and failures stay when the source finishes")
  func staysAfterFinish() {
    let (center, ticks, state) = (MessageCenter(), Broadcaster<Int>(), CurrentValue(0))
    let tokens = [
      center.events.observe { _ in }, center.failures.observe { _ in },
      ticks.events.observe { _ in }, ticks.failures.observe { _ in },
      state.events.observe { _ in }, state.failures.observe { _ in },
    ]
    center.finish()
    ticks.finish()
    state.finish()
    for token in tokens { #expect(token.isActive) }
  }

  @Test("K15 observations of the events and failures end with the source")
  func end() async {
    let leaks = LeakTracker()
    let (events, failures): (ValueSequence<SourceEvent>, ValueSequence<ObserverFailure>)
    let tokens: [ObservationToken]
    do {
      let center = MessageCenter()
      (events, failures) = (center.events.values(), center.failures.values())
      let probe = leaks.makeProbe("closure")
      tokens = [
        center.events.observe { _ in probe.touch() },
        center.failures.observe { _ in probe.touch() },
      ]
      center.post(Tick(number: 1))
      withExtendedLifetime(center) {}
    }
    #expect(await all(events).map(\.kind) == [.posted, .postReturned])
    #expect(await all(failures).isEmpty)
    #expect(tokens.allSatisfy { !$0.isActive })
    #expect(leaks.alive == [])
  }

  /// Posted through the default center, which other tests use too.
  private struct Rung: MessageCenter.Message {}

  @Test("K15 K13 the default center's events and failures are observed on all threads")
  func defaultCenter() async throws {
    let events = Recorder<SourceEvent>()
    let watch = MessageCenter.default.events.observe { event in
      if event.valueType == Rung.self { events.record(event) }
    }
    let failures = Recorder<ObserverFailure>()
    let failing = MessageCenter.default.failures.observe { failure in
      if failure.valueType == Rung.self { failures.record(failure) }
    }
    let token = MessageCenter.default.observe(Rung.self) { _ in throw TestFailure() }
    onThreads(2) { _ in MessageCenter.default.post(Rung()) }
    await Task.detached { MessageCenter.default.post(Rung()) }.value
    for one in [watch, failing] { one.cancel() }
    #expect(failures.count == 3)
    #expect(count(.posted, in: events) == 3)
    #expect(count(.called, in: events) == 3)
    token.cancel()
    #expect(count(.ended, in: events) == 0)
  }

  @Test("K7 K15 events are observed, and no longer, from inside an observer and inside a report")
  func fromInside() {
    let center = MessageCenter()
    let events = Recorder<SourceEvent>()
    let watch = Slot<ObservationToken>()
    let token = center.observe(Tick.self) { tick in
      if tick.number == 1 {
        watch.set(
          center.events.observe { event in
            events.record(event)
            if event.kind == .posted, events.count > 2 { watch.set(nil) }
          })
      }
    }
    for number in 1...4 { center.post(Tick(number: number)) }
    #expect(watch.value == nil)
    #expect(
      events.values.map(\.kind) == [.posted, .called, .returned, .postReturned, .posted])
    token.cancel()
  }

  @Test("K15 events are observed and no longer while others post", arguments: [2, 8])
  func races(width: Int) {
    let (center, leaks) = (MessageCenter(), LeakTracker())
    let token = center.observe(Tick.self) { _ in }
    onThreads(width) { thread in
      for round in 0..<200 {
        let own = 1_000 * thread + round
        if thread.isMultiple(of: 2) {
          center.post(Tick(number: own))
          continue
        }
        let seen = Recorder<SourceEvent.Kind>()
        let probe = leaks.makeProbe("closure")
        let watch = center.events.observe { event in
          probe.touch()
          seen.record(event.kind)
        }
        center.post(Tick(number: own))
        _ = watch.cancelAndWait()
        let count = seen.count
        // One post at least is this thread's own, with its call.
        #expect(seen.values.contains(.posted))
        #expect(seen.values.contains(.called))
        center.post(Tick(number: own))
        #expect(seen.count == count)
      }
    }
    token.cancel()
    #expect(!center.registry.isReporting)
    #expect(leaks.alive == [])
  }
}
