import Foundation
import TestSupport
import Testing

@testable import CampanileTesting

@Suite("Limits of time", .ownThread)
struct TimeLimitTests {
  @Test("A limit counts from when it is made, however late the wait begins")
  func advancedEarly() async throws {
    let (clock, passed) = (VirtualClock(), Recorder<Bool>())
    let limit = TimeLimit(.seconds(5), by: clock)
    clock.advance(by: .seconds(5))
    let wait = Task { passed.record(await limit.pass()) }
    try await passed.expect(true, within: patience)
    await wait.value
  }

  @Test("The longest limit ends when the task is canceled")
  func longest() async {
    let wait = Task { await TimeLimit(.seconds(Int64.max), by: ContinuousClock()).pass() }
    wait.cancel()
    #expect(await wait.value == false)
  }

  @Test("A wait for the end of an object, a gate and many values may have the longest limit")
  func longestElsewhere() async throws {
    let (leaks, values) = (LeakTracker(), Recorder<Int>())
    leaks.track(values)
    let wait = Task { try await leaks.expectGone(within: .seconds(Int64.max)) }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    values.record(1)
    _ = try await values.next()
    await #expect(throws: ExpectationFailure.self) {
      try await values.next(.max, within: .milliseconds(1))
    }
    let (gate, warnings, passed) = (Gate(), Recorder<String>(), Recorder<Int>())
    // Its whole seconds fit into nanoseconds, and its rest does not.
    let limit = Duration.seconds(Int64.max / 1_000_000_000) + .nanoseconds(999_999_999)
    Thread.detachNewThread {
      gate.pass(warningAfter: .zero, within: limit) { warnings.record("\($0)") }
      passed.record(1)
    }
    _ = try await warnings.next(within: patience)
    gate.open()
    _ = try await passed.next(within: patience)
    #expect(warnings.count == 1)
  }

  @Test("By the system's clocks a limit counts from when the wait begins, however late that is")
  func beganLate() async {
    let (clock, duration) = (ContinuousClock(), Duration.milliseconds(50))
    let limit = TimeLimit(duration, by: clock)
    let made = clock.now
    // What keeps the threads of tasks busy meanwhile.
    while clock.now < made.advanced(by: duration) {}
    let began = clock.now
    #expect(await limit.pass())
    #expect(clock.now >= began.advanced(by: duration))
  }
}
