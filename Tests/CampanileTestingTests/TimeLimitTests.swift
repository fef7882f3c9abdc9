import Testing

@testable import CampanileTesting

@Suite("Limits of time")
struct TimeLimitTests {
  @Test("A limit counts from when it is made, however late the wait begins")
  func advancedEarly() async throws {
    let (clock, passed) = (VirtualClock(), Recorder<Bool>())
    let limit = TimeLimit(.seconds(5), by: clock)
    clock.advance(by: .seconds(5))
    let wait = Task { passed.record(await limit.pass()) }
    try await passed.expect(true)
    await wait.value
  }

  @Test("The longest limit ends when the task is canceled")
  func longest() async {
    let wait = Task { await TimeLimit(.seconds(Int64.max), by: ContinuousClock()).pass() }
    wait.cancel()
    #expect(await wait.value == false)
  }

  // Broken by: TimeLimit.makeSleep, if it fixes the deadline before the sleep begins.
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
