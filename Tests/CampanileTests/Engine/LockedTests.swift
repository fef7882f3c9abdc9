import CampanileTesting
import Testing

@testable import Campanile

@Suite("A lock around state", .ownThread)
struct LockedTests {
  @Test(
    "Threads that decide how they wait all have their turn, one at a time", arguments: widths)
  func waiting(width: Int) {
    let count = Effort.times(5_000, long: 200_000)
    let state = Locked((turns: 0, others: 0))
    onThreads(width) { thread in
      for _ in 0..<count {
        if thread == 0 {
          state.withLock { $0 = ($0.turns, $0.others + 1) }
        } else {
          state.withLockInTime { $0 = ($0.turns + 1, $0.others) }
        }
      }
    }
    #expect(state.withLock { $0.turns } == (width - 1) * count)
    #expect(state.withLock { $0.others } == count)
  }
}
