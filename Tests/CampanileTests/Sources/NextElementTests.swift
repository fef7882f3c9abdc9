import Testing

@testable import Campanile

@Suite("The next element of a source", .ownThread)
struct NextElementTests {
  private let center = MessageCenter()

  @Test("It is what is sent after the call, and the observation ends with it")
  func next() async throws {
    async let next = center.messages(of: Tick.self).next(within: .seconds(1_000))
    while center.observerCount == 0 { await Task.yield() }
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    let first = try await next
    #expect(first == Tick(number: 1))
    #expect(center.observerCount == 0)
  }

  @Test("After the limit it throws an error that names the element and the place")
  func late() async throws {
    let error = await #expect(throws: MissingElement.self) {
      try await center.messages(of: Tick.self).next(
        within: .milliseconds(1), file: "Some/File.swift", line: 42)
    }
    #expect(error?.code == .late)
    #expect(
      error?.description == "No value of Tick was sent within 0.001 seconds (Some/File.swift:42)")
    #expect(center.observerCount == 0)
  }

  @Test("If the source ends first, it throws an error that says so")
  func ended() async throws {
    let ticks = Broadcaster<Int>()
    let next = Task {
      try await ticks.next(within: .seconds(1_000), file: "Some/File.swift", line: 42)
    }
    while ticks.observerCount == 0 { await Task.yield() }
    ticks.finish()
    let error = await #expect(throws: MissingElement.self) { try await next.value }
    #expect(error?.code == .ended)
    #expect(
      error?.description == "The source ended before it sent a value of Int (Some/File.swift:42)")
  }

  @Test("A canceled task gets a cancellation error at once")
  func canceled() async throws {
    let task = Task { try await CurrentValue(0).next(within: .seconds(1_000)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
