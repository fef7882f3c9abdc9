import Campanile
import CampanileTesting
import TestSupport
import Testing

@testable import CampanileRelay

@Suite("Calls that are open, and whoever waits for their ends", .ownThread, .timeLimit(.long))
struct OpenCallsTests {
  private let calls = WaitingCalls()

  @Test("Nobody waits where no call is open, or when nobody is to wait any more")
  func nothingOpen() {
    let executor = ManualExecutor()
    func endsAtOnce() -> Bool {
      let ended = begin(1, on: executor, calls).ended
      executor.runUntilIdle()
      return ended.values == [1]
    }
    #expect(endsAtOnce())
    calls.answers.begin()
    #expect(!endsAtOnce())
    calls.answers.end()
    #expect(endsAtOnce())
    // Deliveries are others.
    calls.deliveries.begin()
    #expect(endsAtOnce())
    calls.answers.begin()
    calls.end()
    #expect(endsAtOnce())
  }

  /// Begins so many tasks that wait, on an executor that the test runs.
  private func begin(_ count: Int, on executor: ManualExecutor, _ calls: WaitingCalls) -> (
    tasks: [Task<Void, Never>], ended: Recorder<Int>
  ) {
    let ended = Recorder<Int>()
    let tasks = (1...count).map { number in
      Task(executorPreference: executor) {
        await calls.answers.wait()
        ended.record(number)
      }
    }
    return (tasks, ended)
  }

  @Test("All who wait go on when the last call ends, or when nobody is to wait any more")
  func severalWait() {
    for ends in [true, false] {
      let (calls, executor) = (WaitingCalls(), ManualExecutor())
      calls.answers.begin()
      calls.answers.begin()
      let ended = begin(8, on: executor, calls).ended
      executor.runUntilIdle()
      calls.answers.end()
      executor.runUntilIdle()
      #expect(ended.values == [])
      if ends { calls.answers.end() } else { calls.end() }
      executor.runUntilIdle()
      #expect(ended.values.sorted() == Array(1...8))
    }
  }

  @Test(
    "Who is canceled waits no more, whether it is before or after it has begun to wait",
    arguments: [true, false])
  func canceled(waits: Bool) {
    let executor = ManualExecutor()
    calls.answers.begin()
    let (tasks, ended) = begin(1, on: executor, calls)
    if waits { executor.runUntilIdle() }
    #expect(ended.values == [])
    tasks[0].cancel()
    executor.runUntilIdle()
    #expect(ended.values == [1])
    calls.answers.end()
  }

  @Test("A call is known to its own task until it has ended")
  func inside() async {
    #expect(!AnswerCall.isInside)
    let gate = AsyncGate()
    var later: Task<Bool, Never>?
    await AnswerCall.run {
      #expect(AnswerCall.isInside)
      later = Task {
        await gate.pass()
        return AnswerCall.isInside
      }
    }
    #expect(!AnswerCall.isInside)
    gate.open()
    #expect(await later?.value == false)
  }
}
