import Synchronization
import Testing

@testable import Campanile

@Suite("K14: who tells the changes", .ownThread)
struct HandOverTests {
  private let heard = Recorder<Int>()

  #if DEBUG
    @Test("K2 A follower that registers between a set and its delivery does not hear of the set")
    func registeredBetween() {
      let gates = CheckpointGates()
      let state = CurrentValue(0, registry: gates.makeRegistry())
      let token = state.observe { _ in }
      let announced = gates.hold(at: .announced)
      let set = onThread { state.value = 1 }
      announced.waitUntilReached()
      let late = state.observe { [heard] in heard.record($0) }
      announced.open()
      set()
      state.value = 2
      #expect(heard.values == [2])
      withExtendedLifetime((token, late)) {}
    }

    @Test("K14 After 64 changes of others a thread offers the rest to the next setter, and returns")
    func offered() {
      let gates = CheckpointGates()
      let state = CurrentValue(0, registry: gates.makeRegistry())
      let (inside, thread) = (Gate(), Recorder<UInt>())
      let token = state.observe { [heard] value in
        if value == 1 { inside.pass() }
        heard.record(value)
        thread.record(CallingThread.id)
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
      #expect(Set(thread.values.suffix(36)) == [CallingThread.id])
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
      let token = state.observe { [heard] value in
        if value == 1 { inside.pass() }
        heard.record(value)
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
      let token = state.observe { [heard] value in
        heard.record(value)
        if value < 300 { state.value = value + 1 }
      }
      state.value = 1
      #expect(heard.values == Array(1...300))
      #expect(offers.load(ordering: .relaxed) == 0)
      token.cancel()
    }
  #endif
}
