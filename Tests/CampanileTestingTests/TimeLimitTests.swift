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
}
