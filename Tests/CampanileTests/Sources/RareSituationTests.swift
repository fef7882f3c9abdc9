import Dispatch
import Testing

@testable import Campanile

/// An actor of the tests whose shared instance isolates globally.
@globalActor private actor Library {
  static let shared = Library()
  var heard: [Int] = []
}

@Suite("What the pages say of rare situations", .ownThread)
struct RareSituationTests {
  @Test("K10 postAndWait() waits until a sequence has stored the message, not until it is read")
  func waitsForStorage() async throws {
    let center = MessageCenter()
    let ticks = center.messages(of: Tick.self).values()
    try await center.postAndWait(Tick(number: 1))
    #expect(ticks.registration.waitingCount == 1)
  }

  @Test("K5 K6 observers on a global actor's instance hear all posts in the order of registration")
  func onGlobalActor() async throws {
    let (center, heard) = (MessageCenter(), Recorder<Int>())
    center.observe(Tick.self, on: Library.shared) { library, tick in
      library.heard.append(tick.number)
      heard.record(tick.number)
    }
    center.observe(Tick.self, on: Library.shared) { _, tick in heard.record(10 + tick.number) }
    for number in 0..<3 { center.post(Tick(number: number)) }
    try await center.postAndWait(Tick(number: 3))
    #expect(heard.values == [0, 10, 1, 11, 2, 12, 3, 13])
    #expect(await Library.shared.heard == [0, 1, 2, 3])
  }

  @Test("K6 an asynchronous observer that a global actor isolates hears the posts in their order")
  func isolatedByGlobalActor() async throws {
    let (center, overlap) = (MessageCenter(), OverlapDetector())
    let heard = Recorder<Int>()
    let token = center.messages(of: Tick.self).observeAsync { @Library tick in
      overlap.run { heard.record(tick.number) }
      await Task.yield()
    }
    for number in 0..<20 { center.post(Tick(number: number)) }
    try await center.postAndWait(Tick(number: 20))
    #expect(heard.values == Array(0...20))
    #expect(!overlap.hasOverlapped)
    withExtendedLifetime(token) {}
  }

  @Test("K14 an object that is changed in place is equal to its old value, and distinct skips it")
  func changedInPlace() {
    final class Title: Equatable, Sendable {
      let text = Locked("")
      static func == (one: Title, other: Title) -> Bool {
        one === other || one.text.withLock { $0 } == other.text.withLock { $0 }
      }
    }
    let (state, heard) = (CurrentValue(Title()), Recorder<String>())
    let token = state.observe(options: .distinct) { heard.record($0.text.withLock { $0 }) }
    state.update { title in title.text.withLock { $0 = "changed" } }
    #expect(heard.values == [])
    let other = Title()
    other.text.withLock { $0 = "another" }
    state.value = other
    #expect(heard.values == ["another"])
    withExtendedLifetime(token) {}
  }

  @Test(
    "K14 two states that set each other stop at an equal value, and not at one that is no number")
  func bindings() {
    let (one, other) = (CurrentValue(0.0), CurrentValue(0.0))
    let calls = Recorder<Double>()
    let tokens = [
      one.observe(options: .distinct) { value in
        calls.record(value)
        if calls.count < 100 { other.value = value }
      },
      other.observe(options: .distinct) { value in
        calls.record(value)
        if calls.count < 100 { one.value = value }
      },
    ]
    one.value = 1
    #expect(calls.values == [1, 1])
    one.value = .nan
    #expect(calls.count == 100)
    withExtendedLifetime(tokens) {}
  }
}
