import TestSupport
import Testing

@testable import Campanile

@Suite("K15: what events say of posts and calls", .ownThread)
struct PostEventTests {
  private func kinds(_ events: Recorder<SourceEvent>) -> [SourceEvent.Kind] {
    events.values.map(\.kind)
  }

  @Test("K15 the events of a post have its number, and those of its observers' posts name it")
  func nested() throws {
    let center = MessageCenter()
    let token = center.observe(Tick.self) { _ in center.post(Tock()) }
    let other = center.observe(Tock.self) { _ in }
    let events = Recorder(observing: center.events)
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    let values = events.values
    #expect(
      values.prefix(8).map(\.kind) == [
        .posted, .called, .posted, .called, .returned, .postReturned, .returned, .postReturned,
      ])
    let numbers = values.map(\.postNumber)
    let (outer, inner) = (try #require(numbers[0]), try #require(numbers[2]))
    #expect(outer != inner)
    #expect(numbers.prefix(8) == [outer, outer, inner, inner, inner, inner, outer, outer])
    #expect(values.prefix(8).map(\.parentNumber) == [nil, nil, outer, nil, nil, nil, nil, nil])
    #expect(values[8].postNumber != outer)
    #expect(values[8].parentNumber == nil)
    #expect(Set(values.map(\.thread)).count == 1)
    #expect(Set(values.map(\.sourceNumber)).count == 1)
    #expect(values.map(\.time) == values.map(\.time).sorted())
    // A call that contains another one lasts longer, and says how much of that is the other's.
    let (innerCall, outerCall) = (values[4], values[6])
    #expect(outerCall.began <= innerCall.began)
    #expect(outerCall.nestedTime == innerCall.time - innerCall.began)
    #expect(outerCall.nestedTime <= outerCall.time - outerCall.began)
    #expect(innerCall.nestedTime == .zero)
    withExtendedLifetime((token, other)) {}
  }

  @Test("K15 the post that an observer makes elsewhere names the post that it heard")
  func parentsElsewhere() async throws {
    let (center, queue, statistics) = (MessageCenter(), TestQueue(), Statistics())
    struct FromQueue: MessageCenter.Message {}
    struct FromActor: MessageCenter.Message {}
    struct FromTask: MessageCenter.Message {}
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { _ in center.post(FromQueue()) },
      center.messages(of: Tick.self).observeAsync { _ in
        await Task.yield()
        center.post(FromTask())
      },
    ]
    center.observe(Tick.self, on: statistics) { _, _ in center.post(FromActor()) }
    let events = Recorder(observing: center.events)
    try await center.postAndWait(Tick(number: 1))
    let posts = events.values.filter { $0.kind == .posted }
    let first = try #require(posts.first?.postNumber)
    for type in [FromQueue.self, FromActor.self, FromTask.self] as [any Any.Type] {
      #expect(posts.first { $0.valueType == type }?.parentNumber == first)
    }
    // Each of the three was queued, and called elsewhere.
    for kind in [SourceEvent.Kind.queued, .called, .returned] {
      let found = events.values.filter { $0.kind == kind && $0.postNumber == first }
      #expect(found.count == 3)
      #expect(Set(found.compactMap(\.registration)).count == 3)
    }
    let calls = events.values.filter { $0.kind == .called && $0.postNumber == first }
    #expect(calls.count { $0.isAsynchronous } == 1)
    #expect(calls.allSatisfy { $0.began == posts.first?.time })
    withExtendedLifetime(tokens) {}
  }

  @Test("K15 a delivery that is queued says what becomes of it")
  func fates() {
    let (center, target) = (MessageCenter(), ManualTarget())
    let delivery = Delivery.target(target)
    let called = center.observe(Tick.self, on: delivery) { _ in }
    let bounded = center.observe(Tick.self, on: delivery.buffered(.newest(1))) { _ in }
    let paused = center.observe(Tick.self, on: delivery) { _ in }
    let ended = center.observe(Tick.self, on: delivery) { _ in }
    let failing = center.observe(Tick.self, on: delivery) { _ in throw TestFailure() }
    let failures = Recorder(observing: center.failures)
    let events = Recorder(observing: center.events)
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    paused.registration.pause()
    ended.cancel()
    target.runAll()
    func kinds(of token: ObservationToken) -> [SourceEvent.Kind] {
      events.values.filter { $0.registration == token.registration }.map(\.kind)
    }
    #expect(kinds(of: called) == [.queued, .queued, .called, .returned, .called, .returned])
    #expect(kinds(of: bounded) == [.queued, .queued, .dropped, .called, .returned])
    #expect(kinds(of: paused) == [.queued, .queued, .skipped, .skipped])
    #expect(kinds(of: ended) == [.queued, .queued, .ended])
    #expect(
      kinds(of: failing) == [
        .queued, .queued, .called, .failed, .returned, .called, .failed, .returned,
      ])
    #expect(failures.count == 2)
    for event in events.values where event.registration == bounded.registration {
      #expect(event.registration?.droppedCount == 1)
    }
    // What was dropped is the first of the two.
    let numbers = events.values.filter { $0.kind == .posted }.map(\.postNumber)
    #expect(events.values.first { $0.kind == .dropped }?.postNumber == numbers.first)
  }

  @Test("K15 what is given up with its target is reported as dropped")
  func discarded() {
    let center = MessageCenter()
    let target = ManualTarget()
    let tokens = [
      center.observe(Tick.self, on: .target(target)) { _ in },
      center.observe(Tick.self, on: .target(target, buffering: .newest(4))) { _ in },
    ]
    let events = Recorder(observing: center.events)
    center.post(Tick(number: 1))
    target.end()
    #expect(
      kinds(events) == [.posted, .queued, .queued, .postReturned, .dropped, .dropped])
    #expect(Set(events.values.compactMap(\.registration)) == Set(tokens.map(\.registration)))
  }

  @Test("K15 a sequence takes values in, and says so when it drops one")
  func sequences() {
    let center = MessageCenter()
    let sequence = center.messages(of: Tick.self).values(buffering: .oldest(1))
    let events = Recorder(observing: center.events)
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    #expect(
      kinds(events) == [
        .posted, .queued, .postReturned, .posted, .queued, .dropped, .postReturned,
      ])
    withExtendedLifetime(sequence) {}
  }

  @Test("K15 an event says what it is about: subject, owner, place, delivery")
  func details() throws {
    let (center, player, screen) = (MessageCenter(), Player(), Screen())
    let registration = center.messages(of: LevelChanged.self, about: player)
      .observe(owner: screen) { _, _ in }
    let line = #line - 1
    let events = Recorder(observing: center.events)
    center.post(LevelChanged(level: 1), about: player)
    let (posted, called) = (events.values[0], events.values[1])
    #expect(posted.subject == ObjectIdentifier(player))
    #expect(posted.registration == nil)
    #expect(posted.value == nil)
    #expect(called.registration == registration)
    #expect(called.registration?.number == registration.number)
    #expect(called.line == line)
    #expect(called.ownerType == Screen.self)
    #expect(called.delivery == ".immediate")
    withExtendedLifetime(center.inspection.valueWish) {
      center.post(LevelChanged(level: 2), about: player)
    }
    center.post(LevelChanged(level: 3), about: player)
    let described = events.values.filter { $0.kind == .posted }.map(\.value)
    #expect(described == [nil, "LevelChanged(level: 2)", nil])
  }

  @Test("K15 a set that another thread tells is reported by the thread that made it")
  func setElsewhere() throws {
    let (state, gate) = (CurrentValue(0), Gate())
    let token = state.observe { if $0 == 1 { gate.pass() } }
    let events = Recorder(observing: state.events)
    let wait = onThread { state.value = 1 }
    gate.waitUntilReached()
    // The other thread is inside the follower, and will tell this one too.
    state.value = 2
    state.update { $0 = 3 }
    gate.open()
    wait()
    let values = events.values
    let teller = try #require(values.first?.thread)
    let posts = values.filter { $0.kind == .posted }
    #expect(posts.count == 3)
    #expect(Set(posts.compactMap(\.postNumber)).count == 3)
    #expect(posts.map { $0.thread == teller } == [true, false, false])
    let calls = values.filter { $0.kind == .called }
    #expect(calls.map(\.postNumber) == posts.map(\.postNumber))
    #expect(calls.allSatisfy { $0.thread == teller })
    withExtendedLifetime(token) {}
  }

  @Test("K15 the calls of a multicast are reported, and its members")
  func multicast() {
    let members = Multicast<any Drawing & Sendable>()
    let (one, two) = (Sheet(), Sheet())
    members.add(one)
    let events = Recorder(observing: members.events)
    members.add(two)
    members.call { $0.draw() }
    #expect(
      kinds(events) == [
        .registered, .posted, .called, .returned, .called, .returned, .postReturned,
      ])
    #expect([one, two].map(\.drawn.count) == [1, 1])
  }
}

private protocol Drawing: AnyObject { func draw() }

private final class Sheet: Drawing, Sendable {
  let drawn = Recorder<Int>()
  func draw() { drawn.record(1) }
}
