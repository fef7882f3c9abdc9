import Synchronization
import Testing

@testable import Campanile

@Suite("K14: who tells the changes", .ownThread)
struct HandOverTests {
  private let heard = Recorder<Int>()

  @Test("K14 A setter returns though another thread goes on setting, which then tells")
  func relieved() {
    let state = CurrentValue(0)
    let hasReturned = Atomic<Bool>(false)
    let overlap = OverlapDetector()
    let entered = Gate()
    let token = state.observe { [heard] change in
      overlap.run {
        if change.new == 1 { entered.pass() }
        heard.record(change.new)
      }
    }
    let first = onThread {
      state.value = 1
      hasReturned.store(true, ordering: .sequentiallyConsistent)
    }
    entered.waitUntilReached()
    // Enough for the first thread to be busy with; it goes on only while others are set.
    var last = 1
    while last < 1_000 {
      last += 1
      state.value = last
    }
    entered.open()
    while !hasReturned.load(ordering: .sequentiallyConsistent) {
      last += 1
      state.value = last
    }
    first()
    #expect(!overlap.hasOverlapped)
    #expect(heard.values == Array(1...last))
    withExtendedLifetime(token) {}
  }

  #if DEBUG
    @Test("K14 After 64 changes of others a thread offers the rest to the next setter, and returns")
    func offered() {
      let gates = CheckpointGates()
      let state = CurrentValue(0, registry: gates.makeRegistry())
      let (inside, thread) = (Gate(), Recorder<UInt>())
      let token = state.observe { [heard] change in
        if change.new == 1 { inside.pass() }
        heard.record(change.new)
        thread.record(ThreadRecord.currentID)
      }
      let offer = gates.hold(at: .willTakeBack)
      let first = onThread { state.value = 1 }
      inside.waitUntilReached()
      for value in 2...100 { state.value = value }
      inside.open()
      offer.waitUntilReached()
      #expect(heard.values == Array(1...65))
      // The first thread is held while it offers: the set tells everything, and waits for nobody.
      state.value = 101
      #expect(heard.values == Array(1...101))
      #expect(Set(thread.values.suffix(36)) == [ThreadRecord.currentID])
      offer.open()
      first()
      state.value = 102
      #expect(heard.values == Array(1...102))
      withExtendedLifetime(token) {}
    }

    @Test("K14 What nobody takes is told by the thread that offers it, once in 64 changes")
    func takenBack() {
      let offers = Atomic<Int>(0)
      let inside = Gate()
      let registry = ObserverRegistry(probe: { checkpoint in
        if checkpoint == .willTakeBack { offers.wrappingAdd(1, ordering: .relaxed) }
      })
      let state = CurrentValue(0, registry: registry)
      let token = state.observe { [heard] change in
        if change.new == 1 { inside.pass() }
        heard.record(change.new)
      }
      let first = onThread { state.value = 1 }
      inside.waitUntilReached()
      for value in 2...6_400 { state.value = value }
      inside.open()
      first()
      #expect(heard.values == Array(1...6_400))
      #expect(offers.load(ordering: .relaxed) == 99)
      withExtendedLifetime(token) {}
    }

    @Test("K14 Changes that a follower makes are offered to nobody")
    func ownChanges() {
      let offers = Atomic<Int>(0)
      let registry = ObserverRegistry(probe: { checkpoint in
        if checkpoint == .willTakeBack { offers.wrappingAdd(1, ordering: .relaxed) }
      })
      let state = CurrentValue(0, registry: registry)
      let token = state.observe { [heard] change in
        heard.record(change.new)
        if change.new < 300 { state.value = change.new + 1 }
      }
      state.value = 1
      #expect(heard.values == Array(1...300))
      #expect(offers.load(ordering: .relaxed) == 0)
      token.cancel()
    }
  #endif

  @Test(
    "K14 However often the telling changes hands: no gap, no repeat, one at a time",
    arguments: [2, 8])
  func race(width: Int) {
    let state = CurrentValue(0)
    let queue = TestQueue()
    let (changes, queued) = (Recorder<ValueChange<Int>>(), Recorder<Int>())
    let overlap = OverlapDetector()
    let tokens = [
      state.observe { change in overlap.run { changes.record(change) } },
      state.observe(on: queue.delivery) { queued.record($0.new) },
    ]
    onThreads(width) { _ in
      for _ in 0..<2_000 { state.update { $0 += 1 } }
    }
    queue.run {}
    while queued.count < width * 2_000 { queue.run {} }
    #expect(changes.values.map(\.new) == Array(1...(width * 2_000)))
    #expect(changes.values.map(\.old) == Array(0..<(width * 2_000)))
    #expect(queued.values == Array(1...(width * 2_000)))
    #expect(!overlap.hasOverlapped)
    withExtendedLifetime(tokens) {}
  }
}
