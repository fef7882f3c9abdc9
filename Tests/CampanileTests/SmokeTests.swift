import Dispatch
import Synchronization
import Testing

@testable import Campanile

@Suite("Smoke")
struct SmokeTests {
  @Test func post() async throws {
    let center = MessageCenter()
    let sum = Atomic<Int>(0)
    let owner = Player()
    let token = center.observe(Tick.self) { sum.wrappingAdd($0.number, ordering: .relaxed) }
    center.observe(Tick.self, owner: owner) { _, t in
      sum.wrappingAdd(t.number * 10, ordering: .relaxed)
    }
    center.observe(Tick.self, owner: owner, on: .queue(DispatchQueue(label: "q"))) { _, t in
      sum.wrappingAdd(t.number * 100, ordering: .relaxed)
    }
    let async = center.observeAsync(Tick.self) { t in
      await Task.yield()
      sum.wrappingAdd(t.number * 1000, ordering: .relaxed)
    }
    let all = center.anyMessage.observe { _ in sum.wrappingAdd(10000, ordering: .relaxed) }
    try await center.postAndWait(Tick(number: 1))
    print(center.description)
    #expect(sum.load(ordering: .relaxed) == 11111)
    withExtendedLifetime((token, owner, async, all)) {}
  }
}
