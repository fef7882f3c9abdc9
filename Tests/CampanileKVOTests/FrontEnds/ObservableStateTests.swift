import Campanile
import CampanileKVO
import Observation
import Testing

/// A current value as the standard Observation reads it.
@MainActor
@Suite("A state that the standard Observation reads", .ownThread)
struct ObservableStateTests {
  /// Lets the main actor run other jobs until a condition holds.
  ///
  /// - Returns: Whether it holds in the end.
  private func becomesTrue(_ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + patience
    while !condition() {
      if ContinuousClock.now > deadline { return false }
      await Task.yield()
    }
    return true
  }

  @Test("Reading the value is tracked, and reported once when a change arrives")
  func tracking() async {
    let level = CurrentValue(1)
    let observable = ObservableState(level)
    let changes = Recorder<String>()
    func track() {
      let value = withObservationTracking {
        observable.value
      } onChange: {
        changes.record("changed")
      }
      changes.record("\(value)")
    }
    track()
    level.value = 2
    #expect(await changes.waits(for: 2, within: patience))
    // What arrives on the main actor is there when the actor is free again.
    #expect(await becomesTrue { observable.value == 2 })
    track()
    level.value = 3
    #expect(await changes.waits(for: 4, within: patience))
    #expect(changes.values == ["1", "changed", "2", "changed"])
  }

  @Test("A set on another thread arrives on the main actor, in a sequence of observations too")
  func otherThread() async {
    let level = CurrentValue(1)
    let observable = ObservableState(level.readOnly)
    let (read, hasRead) = AsyncStream.makeStream(of: Int.self)
    let reader = Task {
      for await value in Observations({ observable.value }) { hasRead.yield(value) }
    }
    var values = read.makeAsyncIterator()
    #expect(await values.next() == 1)
    onThread { level.value = 2 }()
    #expect(await values.next() == 2)
    reader.cancel()
  }

  @Test("A derived state is read too, and its first change without the observable is its last")
  func lifetime() async {
    let level = CurrentValue(1)
    var observable: ObservableState<String>? = ObservableState(level.readOnly.map { "\($0)" })
    #expect(observable?.value == "1")
    level.value = 2
    #expect(await becomesTrue { observable?.value == "2" })
    #expect(level.observerCount == 1)
    observable = nil
    level.value = 3
    #expect(await becomesTrue { level.observerCount == 0 })
  }
}
