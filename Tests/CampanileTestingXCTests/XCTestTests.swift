import Campanile
import CampanileTesting
import XCTest

/// The kit under XCTest: the same calls, in synchronous and asynchronous tests.
final class XCTestTests: XCTestCase {
  private struct Tick: MessageCenter.Message, Equatable { var number: Int }

  // As the guide has it: each test has a default center of its own.
  override func invokeTest() {
    MessageCenter.withDefault(MessageCenter(label: name)) { super.invokeTest() }
  }

  func testDefaultCenterIsIsolated() {
    XCTAssertEqual(MessageCenter.default.label, name)
    XCTAssertEqual(MessageCenter.default.observerCount, 0)
  }

  func testDefaultCenterIsIsolatedInAsynchronousTests() async throws {
    try await MessageCenter.withIsolatedDefault { center in
      await Task.yield()
      XCTAssertTrue(MessageCenter.default === center)
    }
  }

  func testExpectations() async throws {
    let ticks = Recorder(observing: Tick.self, in: .default)
    let center = MessageCenter.default
    Task { for number in 1...3 { center.post(Tick(number: number)) } }
    try await ticks.expect(Tick(number: 1), Tick(number: 2), Tick(number: 3), within: .seconds(30))
    try ticks.expectNothingMore()
  }

  func testFailureIsAnError() {
    let recorder = Recorder<Int>()
    recorder.record(1)
    XCTAssertThrowsError(try recorder.expectNothingMore()) { error in
      XCTAssertEqual((error as? ExpectationFailure)?.code, .unexpected)
    }
  }

  func testLimitsNameTheLine() async throws {
    let (clock, gate) = (VirtualClock(), Gate())
    let line = #line + 2
    do {
      try await clock.waitForSleepers(within: .milliseconds(1))
      XCTFail("Nobody sleeps")
    } catch let failure as ExpectationFailure {
      XCTAssertEqual(failure.line, line)
      XCTAssertEqual(failure.code, .timedOut)
    }
    XCTAssertThrowsError(try wait(for: gate)) { error in
      XCTAssertEqual((error as? ExpectationFailure)?.file, #fileID)
    }
  }

  private func wait(for gate: Gate) throws {
    try gate.waitUntilReached(within: .milliseconds(1))
  }

  func testManualDeliveryAndLeaks() throws {
    let (manual, leaks, ticks) = (ManualDelivery(), LeakTracker(), Broadcaster<Int>())
    let heard = Recorder(observing: ticks, on: manual.delivery)
    leaks.track(heard)
    ticks.send(1)
    XCTAssertEqual(heard.values, [])
    XCTAssertTrue(manual.runNext())
    XCTAssertEqual(heard.values, [1])
    XCTAssertThrowsError(try leaks.expectGone())
    withExtendedLifetime(heard) {}
  }
}
