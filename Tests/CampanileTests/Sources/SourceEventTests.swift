import Testing

@testable import Campanile

@Suite("K15: what happens at a source")
struct SourceEventTests {
  private let events = Recorder<SourceEvent>()

  @Test("K15 a center tells of posts, calls, registrations and ends")
  func center() {
    let center = MessageCenter(onEvent: { [events] in events.record($0) })
    let line: UInt = #line + 1
    let token = center.observe(Tick.self) { _ in }
    center.post(Tick(number: 1))
    token.cancel()
    center.post(Tick(number: 2))
    #expect(events.values.map(\.kind) == [.registered, .posted, .called, .ended, .posted])
    #expect(events.values.allSatisfy { $0.valueType == Tick.self })
    #expect(events.values.map(\.line) == [Int(line), nil, Int(line), Int(line), nil])
  }

  // Broken by: ObserverRegistry.end and ObserverRegistry.add, if they tell with the lock held.
  @Test("K7 K15 the closure may use the source, whatever it is told")
  func reentrant() {
    let slot = Slot<MessageCenter>()
    let kinds: [SourceEvent.Kind] = [.registered, .posted, .called, .ended]
    let center = MessageCenter(onEvent: { [events] event in
      events.record(event)
      if event.valueType == Tock.self { return }
      slot.value?.observe(Tock.self) { _ in }.cancel()
      slot.value?.post(Tock())
      #expect((0...1).contains(slot.value?.observerCount ?? 0))
    })
    slot.set(center)
    let token = center.observe(Tick.self) { _ in }
    center.post(Tick(number: 1))
    token.cancel()
    slot.set(nil)
    #expect(events.values.filter { $0.valueType == Tick.self }.map(\.kind) == kinds)
    // At each of those four, one Tock was registered, ended and posted.
    #expect(events.values.count { $0.valueType == Tock.self } == 12)
  }

  // Broken by: ObserverRegistry.isHeard and MessageCenter.find, if a post that nobody hears is not
  // told of; ObserverRegistry.callCarefully, if it tells of a call that is made elsewhere.
  @Test("K15 a post that nobody hears is told of, and each call once, wherever it is made")
  func everyPost() async throws {
    let center = MessageCenter(onEvent: { [events] in events.record($0) })
    let ticks = Broadcaster<Int>(onEvent: { [events] in events.record($0) })
    func count(_ kind: SourceEvent.Kind) -> Int { events.values.count { $0.kind == kind } }
    center.post(Tick(number: 1))
    center.post(LevelChanged(level: 1), about: Player())
    ticks.send(1)
    #expect(events.values.map(\.kind) == [.posted, .posted, .posted])
    let queue = TestQueue()
    let tokens = [
      center.observe(Tick.self) { _ in },
      center.observe(Tick.self, on: queue.delivery) { _ in },
      center.observe(Tick.self, on: queue.delivery, buffering: .newest(1)) { _ in },
      center.observe(Tick.self, .once) { _ in },
      center.observeAsync(Tick.self) { _ in },
      center.observeAsync(Tick.self, execution: .concurrent) { _ in },
      center.anyMessage.observe { _ in },
    ]
    #expect(count(.registered) == 7)
    try await center.postAndWait(Tick(number: 2))
    #expect(count(.posted) == 4)
    #expect(count(.called) == 7)
    for token in tokens { token.cancel() }
    #expect(count(.ended) == 7)
    // Nobody is there any more, and the lists are.
    center.post(Tick(number: 3))
    #expect(count(.posted) == 5)
  }

  @Test("K15 broadcasters and current values tell too, and the closure may use the source")
  func others() {
    let slot = Slot<Broadcaster<Int>>()
    let ticks = Broadcaster<Int>(onEvent: { [events] event in
      events.record(event)
      if event.kind == .registered { slot.value?.send(1) }
    })
    slot.set(ticks)
    let token = ticks.observe { _ in }
    let state = CurrentValue(1, onEvent: { [events] in events.record($0) })
    let follower = state.observe { _ in }
    state.value = 2
    slot.set(nil)
    withExtendedLifetime((token, follower)) {}
    #expect(events.values.filter { $0.kind == .registered }.count == 2)
    #expect(events.values.filter { $0.kind == .posted }.count == 2)
    #expect(events.values.filter { $0.kind == .called }.count == 2)
  }
}
