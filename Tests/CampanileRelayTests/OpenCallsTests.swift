import CampanileTesting
import Testing

@testable import CampanileRelay

@Suite("Calls that are open, and whoever waits for their ends", .timeLimit(.minutes(30)))
struct OpenCallsTests {
  private let calls = OpenCalls()

  @Test("Nobody waits where no call is open, or when nobody is to wait any more")
  func nothingOpen() async {
    await calls.wait()
    calls.begin()
    calls.end()
    await calls.wait()
    calls.begin()
    calls.close()
    await calls.wait()
  }

  // Broken by: OpenCalls.end, if it lets one of them go on.
  @Test("All who wait go on when the last call ends, or when nobody is to wait any more")
  func severalWait() async {
    for ends in [true, false] {
      let calls = OpenCalls()
      calls.begin()
      calls.begin()
      await withTaskGroup(of: Void.self) { group in
        for _ in 1...8 { group.addTask { await calls.wait() } }
        calls.end()
        if ends { calls.end() } else { calls.close() }
      }
    }
  }

  @Test("Who is canceled waits no more, whether it is before or after it has begun to wait")
  func canceled() async {
    calls.begin()
    for _ in 1...100 {
      let waiting = Task { await calls.wait() }
      waiting.cancel()
      await waiting.value
    }
    calls.end()
  }

  @Test("A call is known to its own task until it has ended")
  func inside() async {
    #expect(!OpenCalls.isInside)
    calls.begin()
    let gate = AsyncGate()
    var later: Task<Bool, Never>?
    await calls.run {
      #expect(OpenCalls.isInside)
      later = Task {
        await gate.pass()
        return OpenCalls.isInside
      }
    }
    #expect(!OpenCalls.isInside)
    gate.open()
    #expect(await later?.value == false)
    await calls.wait()
  }
}
