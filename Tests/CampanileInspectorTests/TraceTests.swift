import CampanileFoundation
import Foundation
import TestSupport
import Testing

@testable import Campanile
@testable import CampanileInspector

struct Rang: MessageCenter.Message {
  var number = 0
}

struct Answered: MessageCenter.Message {
  typealias Subject = Bell
}

final class Bell: Sendable {}

@Suite("A trace of sources", .ownThread)
struct TraceTests {
  @Test("A trace follows observers that are there already, and nothing after it has stopped")
  func attach() {
    let center = MessageCenter()
    let token = center.observe(Rang.self) { _ in }
    center.post(Rang())
    let trace = Trace(of: center, callers: false)
    center.post(Rang())
    trace.stop()
    center.post(Rang())
    #expect(trace.posts.count == 1)
    #expect(trace.posts(of: Rang.self).first?.calls.count == 1)
    withExtendedLifetime(token) {}
  }

  @Test("Sources that have the same events are recorded once, also after the trace was stopped")
  func sameEvents() {
    let center = MessageCenter()
    let token = center.observe(Rang.self) { _ in }
    let trace = Trace(of: center, center, callers: false)
    trace.add(center)
    center.post(Rang())
    #expect(trace.posts.count == 1)
    #expect(trace.totals.first?.postCount == 1)
    trace.stop()
    trace.add(center)
    trace.add(center)
    center.post(Rang())
    #expect(trace.posts.count == 2)
    withExtendedLifetime(token) {}
  }

  @Test("A Foundation center is followed from before its first observation to after its last one")
  func foundationCenter() {
    let center = NotificationCenter()
    let name = Notification.Name("Rang")
    let trace = Trace(of: center.allNotifications, values: true, callers: false)
    for number in 1...2 {
      let token = center.observe(name) { _ in }
      center.post(name: name, object: nil, userInfo: ["number": number])
      token.cancel()
      // Nobody hears it.
      center.post(name: name, object: nil)
    }
    #expect(trace.posts.map(\.calls.count) == [1, 1])
    #expect(trace.posts.allSatisfy { $0.name == "Rang" && $0.value != nil })
    withExtendedLifetime(center) {}
  }

  @Test("A source that is added while the trace is stopped is recorded, or not followed")
  func addWhileStopping() {
    let trace = Trace(callers: false)
    let source = Disturbed { trace.stop() }
    trace.add(source)
    source.broadcaster.send(1)
    #expect(trace.sources.count == 1)
    #expect(trace.posts.count == 1)
  }

  @Test("Sources that have gone are forgotten")
  func goneSources() {
    let trace = Trace(callers: false)
    let center = MessageCenter()
    trace.add(center)
    for _ in 0..<200 { trace.add(MessageCenter()) }
    #expect(trace.sources.count <= 17)
    center.post(Rang())
    #expect(trace.posts.count == 1)
  }

  @Test("The names of many threads are forgotten, unless their events are kept")
  func threadNames() throws {
    let center = MessageCenter()
    let events = Recorder(observing: center.events)
    center.post(Rang())
    let record = TraceRecord(try #require(events.values.first))
    var state = TraceStorage.State(ring: TraceRing(capacity: 8))
    _ = state.ring.append(record)
    state.name(record.thread, "kept")
    for number in 1...10_000 { state.name(1 << 40 + UInt64(number), "other") }
    #expect(state.threads[record.thread] == "kept")
    #expect(state.threads.count <= 1_024)
  }

  @Test("Observers of one line with several deliveries have their own rows")
  func deliveriesOfOneLine() {
    let (center, target) = (MessageCenter(), ManualTarget())
    let trace = Trace(of: center, callers: false)
    let tokens = [Delivery.immediate, .target(target)].map { delivery in
      center.observe(Rang.self, on: delivery) { _ in }
    }
    center.post(Rang())
    target.runAll()
    #expect(trace.slowest().map(\.callCount) == [1, 1])
    #expect(Set(trace.slowest().map(\.delivery)).count == 2)
    withExtendedLifetime(tokens) {}
  }

  @Test("A trace that is released leaves its sources, and one that goes on keeps none")
  func lifetimes() {
    let leaks = LeakTracker()
    do {
      let center = MessageCenter()
      do {
        let trace = Trace(of: center, values: true, callers: false)
        leaks.track(trace, as: "trace")
        center.post(Rang())
      }
      let registered = Recorder(observing: center.events)
      center.post(Rang())
      #expect(registered.values.first?.value == nil)
    }
    let trace: Trace
    do {
      let center = MessageCenter()
      leaks.track(center, as: "center")
      trace = Trace(of: center, callers: false)
      center.post(Rang())
    }
    #expect(leaks.alive == [])
    #expect(trace.posts.count == 1)
  }

  @Test("The newest events are kept, the times of all, and the number of the others is known")
  func ring() throws {
    let center = MessageCenter()
    let token = center.observe(Rang.self) { _ in }
    let trace = Trace(of: center, last: 8, callers: false)
    for number in 1...10 { center.post(Rang(number: number)) }
    // Four events each.
    #expect(trace.overwrittenCount == 32)
    #expect(trace.posts.count == 2)
    #expect(try #require(trace.slowest().first).callCount == 10)
    withExtendedLifetime(token) {}
  }

  @Test(
    "The newest events are kept in their order, also if they are read in between",
    arguments: [1, 255, 256, 257, 600])
  func chunks(capacity: Int) {
    let center = MessageCenter()
    let trace = Trace(of: center, last: 2 * capacity, callers: false)
    for count in 1...3 * capacity {
      center.post(Rang())
      if count % 100 == 0 { #expect(trace.posts.count == min(count, capacity)) }
    }
    // Two events each.
    #expect(trace.overwrittenCount == 4 * capacity)
    let numbers = trace.posts.map(\.number)
    #expect(numbers.count == capacity)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test("Values are described on request", arguments: [false, true])
  func values(isAsked: Bool) {
    let (center, state) = (MessageCenter(), CurrentValue(1))
    let token = state.observe { _ in }
    let trace = Trace(of: center, state, values: isAsked, callers: false)
    center.post(Rang(number: 7))
    state.value = 5
    let values = trace.posts.map(\.value)
    if isAsked {
      #expect(values == ["Rang(number: 7)", "5"])
    } else {
      #expect(values == [nil, nil])
    }
    withExtendedLifetime(token) {}
  }

  @Test("A trace that was not asked for values has none, although another trace asks for them")
  func valuesOfAnother() throws {
    let center = MessageCenter()
    let asking = Trace(of: center, values: true, callers: false)
    let trace = Trace(of: center, callers: false)
    center.post(Rang(number: 7))
    #expect(asking.posts.map(\.value) == ["Rang(number: 7)"])
    #expect(trace.posts.map(\.value) == [nil])
    #expect(try !trace.json().contains("Rang(number"))
  }

  @Test("Of a long description, the first thousand scalars are kept", arguments: [1_000, 1_001])
  func longValues(count: Int) {
    let texts = Broadcaster<String>()
    let trace = Trace(of: texts, values: true, callers: false)
    texts.send(String(repeating: "é", count: count))
    let kept = String(repeating: "é", count: 1_000)
    #expect(trace.posts.map(\.value) == [count == 1_000 ? kept : kept + "…"])
  }

  @Test("The post of a state is described as its new value, also if the set is queued")
  func valuesOfState() {
    let state = CurrentValue(0)
    let token = state.observe { if $0 == 1 { state.value = 2 } }
    let trace = Trace(of: state, values: true, callers: false)
    state.value = 1
    #expect(trace.posts.map(\.value) == ["1", "2"])
    withExtendedLifetime(token) {}
  }

  // What the callers are is shown by CallerTests.
  @Test("Without call stacks the posts of a type are counted, of no known poster")
  func posters() {
    let center = MessageCenter()
    let trace = Trace(of: center, callers: false)
    for _ in 0..<3 { center.post(Rang()) }
    #expect(trace.posters(of: Rang.self).map(\.count) == [3])
    #expect(trace.posters(of: Rang.self).first?.caller == nil)
    #expect(trace.posters(of: Answered.self).isEmpty)
  }

  @Test("A post knows its causes, across a queue and through another source")
  func causes() throws {
    let (center, bells, queue) = (MessageCenter(), Broadcaster<Int>(), TestQueue())
    let bell = Bell()
    let tokens = [
      center.observe(Rang.self, on: queue.delivery) { _ in bells.send(1) },
      bells.observe { _ in center.post(Answered(), about: bell) },
    ]
    let trace = Trace(of: center, bells, callers: false)
    center.post(Rang())
    queue.flush()
    let posts = trace.posts
    #expect(posts.count == 3)
    let (first, second, third) = (posts[0], posts[1], posts[2])
    #expect(first.causes == [])
    #expect(second.causes == [first.number])
    #expect(third.causes == [second.number, first.number])
    #expect(third.subject == ObjectIdentifier(bell))
    #expect(first.source == "MessageCenter")
    #expect(second.source == "Broadcaster of Int")
    #expect(first.calls.count == 1)
    #expect(try #require(first.calls.first?.took) > .zero)
    #expect(second.thread != first.thread)
    #expect(first.time <= second.time && second.time <= third.time && third.time <= .now)
    withExtendedLifetime(tokens) {}
  }

  @Test("Of a long chain of causes, the description of a post names the last eight")
  func manyCauses() throws {
    let (center, target) = (MessageCenter(), ManualDelivery())
    let count = 300
    let trace = Trace(of: center, callers: false)
    let posts = Recorder<Int>()
    let token = center.observe(Rang.self, on: target.delivery) { _ in
      posts.record(1)
      if posts.count < count { center.post(Rang()) }
    }
    center.post(Rang())
    while target.runAll() > 0 {}
    let last = try #require(trace.posts.last)
    #expect(last.causes.count == count - 1)
    let cause = try #require(last.description.split(separator: "\n").first)
    let numbers = last.causes.prefix(8).map { "#\($0)" }.joined(separator: ", ")
    #expect(cause.hasSuffix(", caused by \(numbers), and others"))
    withExtendedLifetime(token) {}
  }

  @Test("A delivery that another thread queues while the observer ends does not count for ever")
  func queuedAfterEnd() throws {
    let (center, target) = (MessageCenter(), ManualDelivery())
    let events = Recorder(observing: center.events)
    let token = center.observe(Rang.self, on: target.delivery) { _ in }
    center.post(Rang())
    token.cancel()
    let records = events.values.map { TraceRecord($0) }
    let queued = try #require(records.first { $0.kind == .queued })
    let ended = try #require(records.first { $0.kind == .ended })
    let place = ObserverTime(file: "", line: 1, delivery: "a target")
    var counts = WaitingCounts()
    #expect(counts.take(queued, at: place) == 1)
    #expect(counts.take(ended, at: place) == 0)
    var others = WaitingCounts()
    #expect(others.take(ended, at: place) == nil)
    #expect(others.take(queued, at: place) == nil)
  }

  @Test("The slow observer stands first, and not the one whose post calls it")
  func slowest() async throws {
    let center = MessageCenter()
    let events = Recorder(observing: center.events)
    let outer = center.observe(Rang.self) { _ in center.post(Answered(), about: Bell()) }
    let slow = center.observe(Answered.self) { _ in }
    let line = #line - 1
    let asynchronous = center.messages(of: Rang.self).observeAsync { _ in }
    for _ in 0..<3 { try await center.postAndWait(Rang()) }
    events.stop()
    // What happened, as if the calls had taken these milliseconds.
    let trace = Trace(callers: false)
    let follower = TraceStorage.Follower(run: 0, trace.storage)
    var slowCalls: UInt64 = 0
    for var event in events.values {
      if event.kind == .returned {
        let took: UInt64
        switch event.line {
        case line:
          slowCalls += 1
          (took, event.nestedNanoseconds) = (3 + slowCalls, 0)
        case line - 1: (took, event.nestedNanoseconds) = (7, 6_000_000)
        default: (took, event.nestedNanoseconds) = (50, 0)
        }
        event.beganNanoseconds = event.nanoseconds - took * 1_000_000
      }
      trace.storage.record(event, "center", by: follower)
    }
    let times = trace.slowest()
    #expect(times.map(\.line) == [line, line - 1, line + 2])
    let first = try #require(times.first)
    #expect(first.file.hasSuffix("TraceTests.swift"))
    #expect(first.callCount == 3)
    #expect((first.worst, first.mean) == (.milliseconds(6), .milliseconds(5)))
    #expect((first.total, first.own) == (.milliseconds(15), .milliseconds(15)))
    // The outer observer took longer, and did little itself.
    #expect((times[1].total, times[1].own) == (.milliseconds(21), .milliseconds(3)))
    #expect(times.description.contains("TraceTests.swift:\(line)"))
    withExtendedLifetime((outer, slow, asynchronous)) {}
  }

  @Test("A negative number of slowest observers stops the program with a sentence")
  func negativeCount() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Trace(callers: false).slowest(-1)
      },
      says: "The -1 slowest observers of a trace were asked for")
  }

  @Test("What waited, was dropped, skipped or failed is counted for the line that registers")
  func counts() throws {
    let (center, target) = (MessageCenter(), ManualTarget())
    let bounded = center.observe(Rang.self, on: .target(target, buffering: .newest(1))) { _ in }
    let paused = center.observe(Rang.self, on: .target(target)) { _ in }
    let failing = center.observe(Rang.self, on: .target(target)) { _ in throw Broken() }
    let line = #line - 3
    let failures = Recorder(observing: center.failures)
    paused.registration.pause()
    let trace = Trace(of: center, callers: false)
    for _ in 0..<3 { center.post(Rang()) }
    target.runAll()
    let times = Dictionary(uniqueKeysWithValues: trace.slowest().map { ($0.line, $0) })
    #expect(times[line]?.droppedCount == 2)
    #expect(times[line]?.callCount == 1)
    #expect(times[line + 1]?.skippedCount == 3)
    #expect(times[line + 2]?.failureCount == 3)
    #expect(failures.count == 3)
    #expect(try #require(times[line + 2]).longestWait > .zero)
    withExtendedLifetime((bounded, paused, failing)) {}
  }

  @Test("Events of many threads come together, while traces come and go", arguments: [2, 8])
  func threads(width: Int) {
    let center = MessageCenter()
    let token = center.observe(Rang.self) { _ in }
    let trace = Trace(of: center, callers: false)
    let rounds = Effort.times(10, long: 100)
    onThreads(width) { _ in
      for _ in 0..<rounds {
        center.post(Rang())
        let other = Trace(of: center, callers: false)
        center.post(Rang())
        other.stop()
        #expect(!other.posts.isEmpty)
      }
    }
    #expect(trace.posts.count == width * 2 * rounds)
    let numbers = trace.posts.map(\.number)
    #expect(Set(numbers).count == numbers.count)
    #expect(trace.slowest().first?.callCount == width * 2 * rounds)
    withExtendedLifetime(token) {}
  }
}

private struct Broken: Error {}

/// A source that calls a closure once, when it is about to be followed.
private final class Disturbed: Traceable {
  let broadcaster = Broadcaster<Int>()
  private let disturbance: Locked<(@Sendable () -> Void)?>

  init(_ disturbance: @escaping @Sendable () -> Void) { self.disturbance = Locked(disturbance) }

  var inspection: SourceInspection {
    let disturb = disturbance.withLock { disturb in
      defer { disturb = nil }
      return disturb
    }
    disturb?()
    return broadcaster.inspection.named("disturbed")
  }
}
