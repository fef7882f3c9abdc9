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
