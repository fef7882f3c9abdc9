import CampanileRelay
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Campanile
@testable import CampanileInspector

/// Where an observer may hang.
enum HangingPlace: Int, CaseIterable, Sendable {
  case onTheSpot, queue, main, actor, task, relayAnswer

  /// The line that the observer is registered at.
  var line: UInt { 1_000 + UInt(rawValue) }
}

/// An actor whose observers may hang: it runs on no thread that tasks need.
private actor Clerk {
  private final class Executor: SerialExecutor {
    let queue = DispatchQueue(label: "clerk")
    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      // SAFETY: the block keeps the executor.
      queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  private let executor = Executor()
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }
}

@Suite("Calls in progress", .ownThread)
struct CallInProgressTests {
  private let center = MessageCenter()
  private let gate = Gate()
  private let asyncGate = AsyncGate()
  private let clerk = Clerk()
  private let relay = Relay(.loopback("\(UInt64.random(in: 0 ... .max))"))

  /// Registers an observer that hangs, and returns what ends it, if it is not the actor.
  private func observe(at place: HangingPlace) -> ObservationToken? {
    let line = place.line
    switch place {
    case .onTheSpot: return center.observe(Rang.self, line: line) { [gate] _ in gate.pass() }
    case .queue:
      let queue = DispatchQueue(label: "held")
      return center.observe(Rang.self, on: .queue(queue), line: line) { [gate] _ in gate.pass() }
    case .main: return center.observe(Rang.self, on: .main, line: line) { [gate] _ in gate.pass() }
    case .actor:
      center.observe(Rang.self, on: clerk, line: line) { [gate] _, _ in gate.pass() }
      return nil
    case .task:
      return center.messages(of: Rang.self).observeAsync(line: line) { [asyncGate] _ in
        await asyncGate.pass()
      }
    case .relayAnswer:
      return relay.answer(raw: "rang", line: line) { [asyncGate] _, bytes in
        await asyncGate.pass()
        return bytes
      }
    }
  }

  /// Sends a request to the relay, if it is the place.
  private func ask(at place: HangingPlace) async throws {
    guard place == .relayAnswer else { return }
    _ = try await relay.request(raw: [], to: "rang", within: patience)
  }

  @Test(
    "An observer that hangs stands first, with its age, its thread and what waits behind it",
    arguments: HangingPlace.allCases)
  func hanging(place: HangingPlace) async throws {
    let trace = Trace(of: center, relay.requests, callers: false)
    let stuck = Recorder(observing: trace.stuck(longerThan: .milliseconds(5)))
    let others = center.observe(Rang.self) { _ in }
    let token = observe(at: place)
    let posts = onThread { [center] in for _ in 1...3 { center.post(Rang()) } }
    async let reply: Void = ask(at: place)

    let found = try await stuck.next(within: patience)
    #expect((found.line, found.file) == (Int(place.line), #fileID))
    #expect(found.age > .milliseconds(5) && !found.isWaiting && found.thread != 0)
    #expect("\(found.valueType)" == (place == .relayAnswer ? "IncomingRequest" : "Rang"))
    let first = try await answer {
      let first = trace.slowest().first
      return first?.callsInProgress.first.map { $0.age < .milliseconds(100) } == false ? first : nil
    }
    let call = try #require(first.callsInProgress.first)
    #expect(first.line == Int(place.line))
    // Messages of other tests may wait for the main queue, too.
    let waitingCount = place == .main ? min(call.waitingCount, 2) : call.waitingCount
    #expect(waitingCount == ([.onTheSpot, .relayAnswer].contains(place) ? 0 : 2))
    #expect(first.description.contains("one in progress for"))
    #if Page
      let section = try #require(PageRows(trace).stuck.first)
      let rows = try JSONDecoder().decode(
        ShownTable<StuckRow>.self, from: Data(section.json.utf8)
      ).rows
      #expect(rows.map(\.place) == ["\(#fileID):\(place.line)"])
    #endif
    // It is reported once, however long it takes.
    try stuck.expectNothingMore()

    gate.open()
    asyncGate.open()
    posts()
    try await reply
    try await answer { trace.slowest().allSatisfy { $0.callsInProgress.isEmpty } ? () : nil }
    withExtendedLifetime((token, others)) {}
  }

  @Test(
    "Of nested calls, the inner one stands first and is reported, and the outer one waits for it")
  func nested() async throws {
    let trace = Trace(of: center, callers: false)
    let stuck = Recorder(observing: trace.stuck(longerThan: .seconds(1)))
    let tokens = [
      center.observe(Rang.self, line: 1) { [center] _ in center.post(Answered(), about: Bell()) },
      center.observe(Answered.self, line: 2) { [gate] _ in gate.pass() },
    ]
    let posts = onThread { [center] in center.post(Rang()) }
    #expect(try await stuck.next(within: patience).line == 2)
    let slowest = trace.slowest()
    #expect(slowest.map(\.line) == [2, 1])
    #expect(slowest.map { $0.callsInProgress.map(\.isWaiting) } == [[false], [true]])
    try stuck.expectNothingMore()
    gate.open()
    posts()
    withExtendedLifetime(tokens) {}
  }

  @Test("A call whose source is released, or whose trace is stopped, is not in progress any more")
  func ended() {
    let calls = Recorder<Int>()
    let trace = Trace(callers: false)
    let last = Locked<MessageCenter?>(MessageCenter())
    let (target, tokens) = (ManualDelivery(), TokenBag())
    last.withLock { $0 }.map { center in
      trace.add(center)
      center.observe(Rang.self, on: target.delivery) { _ in
        calls.record(trace.slowest()[0].callsInProgress.count)
        let center = last.withLock { $0.take() }
        withExtendedLifetime(center) {}
      }.store(in: tokens)
      center.post(Rang())
    }
    target.runAll()
    let stopped = Trace(of: center, callers: false)
    let other = center.observe(Rang.self) { _ in
      stopped.stop()
      calls.record(stopped.slowest()[0].callsInProgress.count)
    }
    center.post(Rang())
    #expect(calls.values == [1, 0])
    #expect(trace.slowest()[0].callsInProgress.isEmpty)
    withExtendedLifetime((other, tokens)) {}
  }

  @Test("A limit that is too short stops the program with a sentence")
  func shortLimit() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Trace(callers: false).stuck(longerThan: .zero)
      },
      says: "Calls that take longer than 0.0 seconds were to be reported")
  }
}
