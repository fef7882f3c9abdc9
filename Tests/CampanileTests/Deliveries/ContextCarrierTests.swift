import TestSupport
import Testing

@testable import Campanile

/// What a carrier takes along: as every carrier stays installed, one for all these tests.
private enum Request {
  @TaskLocal static var id: String?
  /// A context that is not task-local: the thread's own.
  static let depth = ThreadDepth()

  static let install: Void = {
    ContextCarrier($id).install()
    ContextCarrier(
      capture: { depth.current },
      restore: { value, call in
        depth.surroundings.record("\(value) in \(id ?? "none")")
        depth.within(value, call)
      },
      restoreAsync: { value, call in
        depth.asyncCalls.record(value)
        await call()
      }
    ).install()
  }()
}

/// A number that belongs to the thread, as libraries in C have them.
private final class ThreadDepth: Sendable {
  @TaskLocal private static var value: Int?
  let asyncCalls = Recorder<Int>()
  /// The values that were restored, each with the request in force there.
  let surroundings = Recorder<String>()

  var current: Int? { Self.value }
  func within(_ value: Int, _ call: () -> Void) { Self.$value.withValue(value, operation: call) }
}

@Suite("A context is carried to where observers run", .ownThread)
struct ContextCarrierTests {
  init() { Request.install }

  @Test("The task-local values of the poster are those of observers on queues, actors and in tasks")
  func everywhere() async throws {
    let (center, queue, statistics) = (MessageCenter(), TestQueue(), Statistics())
    let heard = Recorder<String>()
    @Sendable func record(_ place: String) { heard.record("\(place) \(Request.id ?? "none")") }
    let tokens = [
      center.observe(Tick.self) { _ in record("here") },
      center.observe(Tick.self, on: queue.delivery) { _ in record("queue") },
      center.observe(Tick.self, on: queue.delivery.ordered.buffered(.newest(4))) { _ in
        record("buffer")
      },
      center.messages(of: Tick.self).observeAsync { _ in
        await Task.yield()
        record("task")
      },
    ]
    center.observe(Tick.self, on: statistics) { _, _ in record("actor") }
    let places = ["actor", "buffer", "here", "queue", "task"]
    for id in ["1", "2"] {
      try await Request.$id.withValue(id) { try await center.postAndWait(Tick(number: 1)) }
      #expect(heard.values.suffix(places.count).sorted() == places.map { "\($0) \(id)" })
    }
    // Where there is none, none of an earlier one is left.
    try await center.postAndWait(Tick(number: 3))
    #expect(heard.values.suffix(places.count).sorted() == places.map { "\($0) none" })
    withExtendedLifetime(tokens) {}
  }

  @Test("Each of several messages that wait for one job has its own context")
  func batch() {
    let (center, target) = (MessageCenter(), ManualTarget())
    let heard = Recorder<String?>()
    let token = center.observe(Tick.self, on: .target(target)) { _ in heard.record(Request.id) }
    for id in ["1", nil, "2"] { Request.$id.withValue(id) { center.post(Tick(number: 1)) } }
    Request.$id.withValue("the target's own") { _ = target.runAll() }
    #expect(heard.values == ["1", nil, "2"])
    withExtendedLifetime(token) {}
  }

  @Test("A set that another thread tells has the context of the thread that made it")
  func setElsewhere() {
    let (state, gate) = (CurrentValue(0), Gate())
    let heard = Recorder<String?>()
    let token = state.observe { value in
      heard.record(Request.id)
      if value == 1 { gate.pass() }
    }
    let wait = onThread { Request.$id.withValue("first") { state.value = 1 } }
    gate.waitUntilReached()
    Request.$id.withValue("second") { state.value = 2 }
    Request.$id.withValue("third") { state.update { $0 = 3 } }
    gate.open()
    wait()
    #expect(heard.values == ["first", "second", "third"])
    withExtendedLifetime(token) {}
  }

  @Test("A carrier of something else captures and restores it, also around asynchronous calls")
  func custom() async throws {
    let (center, target) = (MessageCenter(), ManualTarget())
    let heard = Recorder<Int?>()
    let tokens = [
      center.observe(Tick.self, on: .target(target)) { _ in heard.record(Request.depth.current) },
      center.messages(of: Tick.self).observeAsync { _ in },
    ]
    Request.depth.within(7) { center.post(Tick(number: 1)) }
    center.post(Tick(number: 2))
    target.runAll()
    #expect(heard.values == [7, nil])
    while try await Request.depth.asyncCalls.next(within: patience) != 7 {}
    withExtendedLifetime(tokens) {}
  }

  @Test("Of several carriers, the one that was installed first restores its context outermost")
  func firstIsOutermost() {
    let (center, target) = (MessageCenter(), ManualTarget())
    let token = center.observe(Tick.self, on: .target(target)) { _ in }
    Request.$id.withValue("outer") { Request.depth.within(8) { center.post(Tick(number: 1)) } }
    target.runAll()
    // Other tests restore other numbers meanwhile.
    #expect(Request.depth.surroundings.values.filter { $0.hasPrefix("8 ") } == ["8 in outer"])
    withExtendedLifetime(token) {}
  }

  @Test("A follower that another thread calls after a pause has the context of who resumed it")
  func resumedElsewhere() {
    let (state, gate) = (CurrentValue(0), Gate())
    let heard = Recorder<String?>()
    let token = state.observe { _ in heard.record(Request.id) }
    let last = state.observe { _ in gate.pass() }
    token.pause()
    let wait = onThread { Request.$id.withValue("setter") { state.value = 1 } }
    gate.waitUntilReached()
    Request.$id.withValue("resumer") { token.resume() }
    gate.open()
    wait()
    #expect(heard.values == ["resumer"])
    withExtendedLifetime(last) {}
  }

  @Test("A carrier that makes the call it was given twice stops the program")
  func twice() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let carrier = ContextCarrier(
        capture: { 1 },
        restore: { _, call in
          call()
          call()
        }, restoreAsync: { _, call in await call() })
      carrier.install()
      let (center, target) = (MessageCenter(), ManualTarget())
      let token = center.observe(Tick.self, on: .target(target)) { _ in }
      center.post(Tick(number: 1))
      target.runAll()
      withExtendedLifetime(token) {}
    }
    expect(result, says: "made the call it was given twice")
  }
}
