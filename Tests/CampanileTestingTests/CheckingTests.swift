import Campanile
import CampanileTesting
import Synchronization
import TestSupport
import Testing

@Suite("LeakTracker", .ownThread)
struct LeakTrackerTests {
  private final class Screen: Sendable {}

  private final class Holder: Sendable {
    private let object: Mutex<Screen?>
    init(_ object: Screen) { self.object = Mutex(object) }
    func withObject(_ body: (Screen) -> Void) {
      object.withLock { if let object = $0 { body(object) } }
    }
    func drop() { object.withLock { $0 = nil } }
  }

  private let leaks = LeakTracker()

  @Test("Names what lives, and where it was tracked")
  func names() async throws {
    var screen: Screen? = Screen()
    let line = #line + 1
    leaks.track(screen!)
    let closure: (() -> Void)? = { [probe = leaks.makeProbe("closure")] in { probe.touch() } }()
    #expect(leaks.alive.count == 2)
    let failure = await failure { try leaks.expectGone() }
    #expect(failure?.code == .alive)
    #expect(failure?.message.contains("2 objects live: Screen (") == true)
    #expect(failure?.message.contains("CheckingTests.swift:\(line))") == true)
    withExtendedLifetime((screen, closure)) {}
    screen = nil
    #expect(leaks.alive.count == 1 && leaks.alive[0].hasPrefix("closure"))
    closure?()
  }

  @Test("All gone: nothing is thrown")
  func gone() async throws {
    leaks.track(Screen())
    try leaks.expectGone()
    try await leaks.expectGone(within: .seconds(1), clock: VirtualClock())
  }

  @Test("Waits for what others let go of, by the clock")
  func waits() async throws {
    let (clock, slot) = (VirtualClock(), Recorder<Bool>())
    let holder = Holder(Screen())
    holder.withObject { leaks.track($0) }
    async let result: Void = {
      defer { slot.record(true) }
      try await leaks.expectGone(within: .seconds(100), clock: clock)
    }()
    try await clock.waitForSleepers(within: patience)
    clock.advance(by: .seconds(1))
    try await clock.waitForSleepers(within: patience)
    #expect(slot.count == 0)
    holder.drop()
    clock.advance(by: .seconds(1))
    try await result
  }

  @Test("The wait ends when the clock is advanced by the limit at once")
  func advancedAtOnce() async throws {
    let (clock, screen) = (VirtualClock(), Screen())
    leaks.track(screen)
    async let result = failure { [leaks] in
      try await leaks.expectGone(within: .seconds(10), clock: clock)
    }
    try await clock.waitForSleepers(within: patience)
    clock.advance(by: .seconds(10))
    #expect(await result?.code == .alive)
    withExtendedLifetime(screen) {}
  }

  @Test("What stays is named when the time is over")
  func stays() async throws {
    let (clock, screen) = (VirtualClock(), Screen())
    leaks.track(screen, as: "the screen")
    async let result = failure { [leaks] in
      try await leaks.expectGone(within: .seconds(100), clock: clock)
    }
    for _ in 0..<100 {
      try await clock.waitForSleepers(within: patience)
      clock.advance(by: .seconds(1))
    }
    #expect(
      await result?.message.hasPrefix(
        "Expected everything to be gone within 100.0 seconds, and 1 object lives: the screen (")
        == true)
    withExtendedLifetime(screen) {}
  }
}

@Suite("Isolated default centers", .ownThread)
struct IsolatedDefaultTests {
  @Test("Tests at the same time do not hear each other", arguments: 0..<16)
  func parallel(number: Int) async throws {
    let shared = MessageCenter.default
    try await MessageCenter.withIsolatedDefault { center in
      #expect(MessageCenter.default === center && center !== shared)
      let ticks = Recorder(observing: Tick.self, in: .default)
      for round in 0..<100 {
        MessageCenter.default.post(Tick(number: number))
        if round % 10 == 0 { await Task.yield() }
      }
      await Task { MessageCenter.default.post(Tick(number: number)) }.value
      try await ticks.expect(Array(repeating: Tick(number: number), count: 101))
      try ticks.expectNothingMore()
      try center.expectNoObservers()
    }
  }

  @Test("Returns what the test returns, and throws what it throws")
  func passesOn() async throws {
    #expect(try MessageCenter.withIsolatedDefault { _ in 5 } == 5)
    #expect(throws: TestError()) {
      try MessageCenter.withIsolatedDefault { _ in throw TestError() }
    }
    await #expect(throws: TestError()) {
      try await MessageCenter.withIsolatedDefault { _ in
        await Task.yield()
        throw TestError()
      }
    }
  }

  @Test("An observer that throws fails the test")
  func observerThrows() async {
    let line = #line + 2
    let failure = await failure {
      try MessageCenter.withIsolatedDefault { center in
        let token = center.observe(Tick.self) { _ in throw TestError() }
        center.post(Tick(number: 1))
        center.post(Tick(number: 2))
        withExtendedLifetime(token) {}
      }
    }
    #expect(failure?.code == .observerThrew)
    #expect(failure?.line == line)
    #expect(failure?.message.contains("threw TestError(), and 1 more failed.") == true)
  }

  @Test("An observer that throws fails an asynchronous test too")
  func observerThrowsLater() async {
    let line = #line + 2
    let failure = await failure {
      try await MessageCenter.withIsolatedDefault { center in
        let token = center.observe(Tick.self) { _ in throw TestError() }
        await Task.yield()
        center.post(Tick(number: 1))
        withExtendedLifetime(token) {}
      }
    }
    #expect(failure?.code == .observerThrew)
    #expect(failure?.line == line && failure?.file == #fileID)
  }

  @Test("The errors of observers are written if the test fails for another reason")
  func observerThrowsBeforeTheTest() async {
    let results = [
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        #expect(throws: CancellationError.self) {
          try MessageCenter.withIsolatedDefault { center in
            let token = center.observe(Tick.self) { _ in throw TestError() }
            center.post(Tick(number: 1))
            withExtendedLifetime(token) {}
            throw CancellationError()
          }
        }
      },
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        await #expect(throws: ExpectationFailure.self) {
          try await MessageCenter.withIsolatedDefault { center in
            let ticks = Recorder<Int>(timeout: .zero)
            let token = center.observe(Tick.self) { _ in throw TestError() }
            center.post(Tick(number: 1))
            try await ticks.expect(1)
            withExtendedLifetime(token) {}
          }
        }
      },
    ]
    for result in results {
      let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(text.contains("TestError()"))
    }
  }

  @Test("The test's own recorders are no observers that are left")
  func recordersAreNotLeft() async throws {
    let center = MessageCenter()
    let ticks = Recorder(observing: Tick.self, in: center)
    let any = Recorder(observing: center.anyMessage)
    let read = Recorder(reading: center.messages(of: Tick.self).values())
    try center.expectNoObservers()
    #expect(center.observerCount == 3)
    // Nor is the center's own memory of the last message one.
    #expect(center.latest(of: Tick.self).value == nil)
    try center.expectNoObservers()
    // The messages of somebody else's sequence, and what records by hand, are not the recorder's.
    let messages = center.messages(of: Tick.self).values()
    let token = center.observe(Tick.self) { ticks.record($0) }
    let failure = await failure { try center.expectNoObservers() }
    #expect(failure?.message.hasPrefix("Expected no observers, and there are 2: ") == true)
    token.cancel()
    messages.registration.cancel()
    for recorder in [ticks, read] { recorder.stop() }
    try center.expectNoObservers()
    #expect(center.observerCount == 2)
    withExtendedLifetime(any) {}
  }

  @Test("Observers that are left are listed")
  func observersLeft() async {
    let center = MessageCenter()
    let line = #line + 1
    let token = center.observe(Tick.self) { _ in }
    let failure = await failure { try center.expectNoObservers() }
    #expect(failure?.code == .alive)
    #expect(failure?.line == line + 1 && failure?.file == #fileID)
    #expect(failure?.message.contains("CheckingTests.swift:\(line)") == true)
    withExtendedLifetime(token) {}
  }
}

// The trait of the guide: a default center of its own for each test of a suite.
private struct IsolatedCenter: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await MessageCenter.withIsolatedDefault { _ in try await function() }
  }
}

@Suite("A trait", .ownThread, IsolatedCenter())
struct TraitTests {
  @Test("Every test of the suite has its own center", arguments: 0..<8)
  func own(number: Int) async throws {
    #expect(MessageCenter.default.label != "default")
    let ticks = Recorder(observing: Tick.self, in: .default)
    await Task.yield()
    MessageCenter.default.post(Tick(number: number))
    #expect(ticks.values == [Tick(number: number)])
  }
}

// The trait of the guide: marks an expectation at its own line.
private struct MarkedExpectations: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    do { try await function() } catch let failure as ExpectationFailure {
      Issue.record(
        failure,
        sourceLocation: SourceLocation(
          fileID: failure.file, filePath: failure.file, line: failure.line, column: 1))
    }
  }
}

@Suite("A trait that marks expectations", .ownThread)
struct MarkedExpectationTests {
  @Test("An expectation that fails is marked at its own line, and nothing is thrown")
  func marked() async throws {
    let test = try #require(Test.current)
    let line = #line + 4
    try await withKnownIssue {
      try await MarkedExpectations().provideScope(for: test, testCase: nil) {
        let numbers = Recorder<Int>(timeout: .zero)
        try await numbers.expect(1)
      }
    } matching: { issue in
      issue.sourceLocation?.line == line && issue.sourceLocation?.fileID == #fileID
        && issue.error is ExpectationFailure
    }
  }

  @Test("Another error is thrown on")
  func passesOn() async throws {
    let test = try #require(Test.current)
    await #expect(throws: TestError()) {
      try await MarkedExpectations().provideScope(for: test, testCase: nil) { throw TestError() }
    }
  }
}
