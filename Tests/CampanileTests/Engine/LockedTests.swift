import CampanileTesting
import Testing

@testable import Campanile

@Suite("A lock around state", .timeLimit(.minutes(30)))
struct LockedTests {
  @Test("Who steps back from a thread that has the lock has it afterwards")
  func steppingBack() async throws {
    let state = Locked(1)
    let gate = Gate()
    let calls = Recorder<Int>()
    state.withLockSteppingBack { $0 += 1 }
    let holder = onThread {
      state.withLock { state in
        gate.pass()
        state *= 10
      }
    }
    try await gate.reached()
    let waiter = onThread {
      state.withLockSteppingBack { state in
        state += 5
        calls.record(state)
      }
    }
    #expect(calls.values.isEmpty)
    gate.open()
    holder()
    waiter()
    #expect(calls.values == [25])
  }
}
