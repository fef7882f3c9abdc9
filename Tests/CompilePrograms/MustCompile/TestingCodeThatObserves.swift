// The examples of the guide of this name.
import Campanile
import CampanileFoundation
import CampanileTesting
import Dispatch
import Foundation
import Synchronization
import Testing
import XCTest

nonisolated struct TrackChanged: MessageCenter.Message, Equatable { var title: String }

nonisolated final class TitleLog: Sendable {
  private let stored = Mutex<[String]>([])
  var titles: [String] { stored.withLock { $0 } }

  init(_ center: MessageCenter, delivery: Delivery) {
    center.observe(TrackChanged.self, owner: self, on: delivery) { log, message in
      log.stored.withLock { $0.append(message.title) }
    }
  }
}

nonisolated struct KeyboardWillShow: TypedNotification {
  static let notificationName = Notification.Name("KeyboardWillShow")
  var height: Double

  init(height: Double) { self.height = height }

  init(from notification: Notification) throws {
    height = try notification.value(forKey: "height")
  }

  var userInfo: [AnyHashable: any Sendable] { ["height": height] }
}

func testNotifications() async throws {
  let keyboards = Recorder(
    observing: NotificationCenter.default.notifications(of: KeyboardWillShow.self))
  NotificationCenter.default.post(KeyboardWillShow(height: 300))
  let height = try await keyboards.next().height
  precondition(height == 300)
}

func testExpectations(
  _ center: MessageCenter, _ volume: CurrentValue<Float>, _ ticks: Broadcaster<Int>,
  _ queue: DispatchQueue
) async throws {
  let titles = Recorder(observing: TrackChanged.self, in: center)
  let volumes = Recorder(observing: volume, options: [.initial])
  let everything = Recorder(reading: ticks.values())

  try await titles.expect(TrackChanged(title: "Aria"), TrackChanged(title: "Var. 1"))
  try titles.expectNothingMore()
  precondition(volumes.count == 1)

  let onQueue = Recorder(observing: ticks, on: .queue(queue))
  ticks.send(1)
  try await onQueue.expect(1)
  precondition(onQueue.entries[0].place.isOn(.queue(queue)))

  let clock = VirtualClock()
  let alarm = Task {
    try await clock.sleep(for: .seconds(3_600))
    ticks.send(1)
  }
  try await clock.waitForSleepers()
  clock.advance(by: .seconds(3_600))
  try await everything.expect(1)
  try await alarm.value

  let gate = Gate()
  let token = ticks.observe(on: .queue(queue)) { _ in gate.pass() }
  ticks.send(1)
  try await gate.reached()
  precondition(token.cancel() == .endedWhileMaybeRunning)
  gate.open()
}

struct Library {
  let center: MessageCenter

  func play(_ title: String) { center.post(TrackChanged(title: title)) }
}

func testSettling(_ library: Library) async {
  library.play("Aria")
  await settle()
}

func testWaiting(_ center: MessageCenter) async throws {
  let log = TitleLog(center, delivery: .queue(.main))
  try await center.postAndWait(TrackChanged(title: "Aria"))
  precondition(log.titles == ["Aria"])
}

func testDeadOwner(_ center: MessageCenter) {
  let manual = ManualDelivery()
  var log: TitleLog? = TitleLog(center, delivery: manual.delivery)
  center.post(TrackChanged(title: "Aria"))
  precondition(manual.pendingCount == 1)
  weak let ended = log
  log = nil
  manual.runAll()
  precondition(ended == nil)
}

func testNothingLeft(_ center: MessageCenter) throws {
  let leaks = LeakTracker()
  do {
    let log = TitleLog(center, delivery: .immediate)
    leaks.track(log)
  }
  try leaks.expectGone()
  try center.expectNoObservers()
}

func testDefault() throws {
  try MessageCenter.withIsolatedDefault { center in
    let log = TitleLog(MessageCenter.default, delivery: .immediate)
    center.post(TrackChanged(title: "Aria"))
    precondition(log.titles == ["Aria"])
  }
}

nonisolated struct IsolatedCenter: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await MessageCenter.withIsolatedDefault { _ in try await function() }
  }
}

@Suite("Titles", IsolatedCenter())
struct TitleTests {
  @Test("Keeps what was posted")
  func keeps() {
    let log = TitleLog(.default, delivery: .immediate)
    MessageCenter.default.post(TrackChanged(title: "Aria"))
    #expect(log.titles == ["Aria"])
  }
}

nonisolated final class TitleTestCase: XCTestCase {
  override func invokeTest() {
    MessageCenter.withDefault(MessageCenter(label: name)) { super.invokeTest() }
  }
}

nonisolated struct MarkedExpectations: SuiteTrait, TestTrait, TestScoping {
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

func testErrors() throws {
  let strict = MessageCenter(label: "test")
  let failures = Recorder(observing: strict.failures)
  strict.post(TrackChanged(title: "Aria"))
  try failures.expectNothingMore()
}
