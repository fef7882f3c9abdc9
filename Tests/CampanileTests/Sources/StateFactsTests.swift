import TestSupport
import Testing

@testable import Campanile

/// What users of other libraries know of a state, and is so here.
///
/// The facts are those of `StateFlowTest` of kotlinx.coroutines, and of `PropertySpec` of ReactiveSwift.
@Suite("States as in other libraries", .ownThread)
struct StateFactsTests {
  private let heard = Recorder<String>()

  // MARK: StateFlow

  @Test("A slow collector receives the newest value, unless it equals the last that it received")
  func conflation() async {
    let state = CurrentValue(0)
    var reader = state.values(buffering: .newest(1), options: [.initial, .distinct])
      .makeAsyncIterator()
    #expect(await reader.next() == 0)
    for values in [[1, 0, 3, 2], [2, 5, 4]] {
      for value in values { state.value = value }
      #expect(await reader.next() == values.last)
    }
    state.value = 7
    state.value = 4
    state.finish()
    #expect(await reader.next() == nil)
  }

  // MARK: Property

  @Test("What observes a state, or one made from it, ends with the state and not with the view")
  func ends() async {
    var state: CurrentValue? = CurrentValue(1)
    var views: [ReadOnlyState<Int>] = [state!.map { $0 + 1 }]
    views.append(views[0].map { $0 + 2 })
    let tokens = views.map { $0.observe { _ in } } + [state!.observe { _ in }]
    let values = state!.values()
    views = []
    #expect(tokens.allSatisfy { $0.isActive })
    state!.value = 2
    state = nil
    #expect(tokens.allSatisfy { !$0.isActive })
    #expect(await values.reduce(into: []) { $0.append($1) } == [2])
  }

  @Test("Observers can observe the same state, and each other's")
  func nested() {
    let (one, other) = (CurrentValue(0), CurrentValue(0))
    let bag = TokenBag()
    one.observe(options: .initial) { [heard] _ in
      other.observe(options: .initial) { _ in
        one.observe(options: .initial) { heard.record("\($0)") }.store(in: bag)
      }.store(in: bag)
    }.store(in: bag)
    #expect(heard.values.last == "0")
    one.value = 1
    #expect(heard.values.last == "1")
    bag.cancel()
  }

  @Test("A state that follows another one may be released while that is set", arguments: [2, 8])
  func releasedTarget(width: Int) {
    for _ in 0..<Effort.times(50, long: 500) {
      let source = CurrentValue(1)
      let target = Slot<CurrentValue<Int>>()
      target.set(CurrentValue(1))
      source.observe(owner: target.value!) { target, value in target.value = value }
      onThreads(width) { thread in
        if thread == 0 { target.set(nil) } else { source.value = thread }
      }
      source.value = 0
      #expect(source.observerCount == 0)
    }
  }
}
