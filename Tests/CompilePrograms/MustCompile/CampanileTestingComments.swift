// The examples in the documentation comments of the module of this name.
import Campanile
import CampanileTesting
import Dispatch

struct TrackChanged: MessageCenter.Message, Equatable { var title: String }

final class Screen: Sendable {
  init(_ center: MessageCenter, delivery: Delivery = .immediate) {
    center.observe(TrackChanged.self, owner: self, on: delivery) { _, _ in }
  }
}

struct Library {
  func play(_ title: String) { MessageCenter.default.post(TrackChanged(title: title)) }
}

struct Player {
  let volume = CurrentValue<Float>(1)
}

struct Ticker {
  let ticks = Broadcaster<Int>()
}

struct Alarm<C: Clock>: Sendable where C.Duration == Duration {
  let ringing: Task<Void, any Error>

  init(after duration: Duration, clock: C) {
    ringing = Task { try await clock.sleep(for: duration) }
  }
}

func leaks(_ center: MessageCenter) throws {
  let leaks = LeakTracker()
  do {
    let screen = Screen(center)
    leaks.track(screen)
    let token = center.observe(TrackChanged.self) { [probe = leaks.makeProbe("closure")] _ in
      probe.touch()
    }
    token.cancel()
  }
  try leaks.expectGone()
}

func isolatedDefault() async throws {
  try await MessageCenter.withIsolatedDefault { center in
    let library = Library()  // posts through MessageCenter.default
    let titles = Recorder(observing: TrackChanged.self, in: center)
    library.play("Aria")
    try await titles.expect(TrackChanged(title: "Aria"))
  }
}

func gate(_ center: MessageCenter, _ queue: DispatchQueue) async throws {
  let gate = Gate()
  let token = center.observe(TrackChanged.self, on: .queue(queue)) { _ in gate.pass() }
  center.post(TrackChanged(title: "Aria"))
  try await gate.reached()  // from here on the observer is in mid-call
  token.cancel()
  gate.open()
}

func manualDelivery(_ center: MessageCenter) {
  let manual = ManualDelivery()
  let screen = Screen(center, delivery: manual.delivery)
  center.post(TrackChanged(title: "Aria"))
  // Nothing has been delivered: manual.pendingCount is 1.
  manual.runAll()
  withExtendedLifetime(screen) {}
}

func virtualClock() async throws {
  let clock = VirtualClock()
  let alarm = Alarm(after: .seconds(60), clock: clock)
  try await clock.waitForSleepers()
  clock.advance(by: .seconds(60))
  try await alarm.ringing.value
}

func expecting(_ titles: Recorder<String>) async throws {
  try await titles.expect("Aria", "Var. 1", "Var. 2")
  try titles.expectNothingMore()
}

func observing(_ player: Player, _ center: MessageCenter) {
  let volumes = Recorder(observing: player.volume, options: [.initial])
  let everything = Recorder(observing: center.anyMessage)
  precondition(volumes.values.count == 1 && everything.values.isEmpty)
}

func observingMessages(_ center: MessageCenter) {
  let titles = Recorder(observing: TrackChanged.self, in: center)
  precondition(titles.values.isEmpty)
}

func recording(_ clock: Ticker, _ center: MessageCenter, _ queue: DispatchQueue) {
  let ticks = Recorder(observing: clock.ticks, on: .queue(queue))
  let titles = Recorder<String>()
  let token = center.observe(TrackChanged.self) { titles.record($0.title) }
  precondition(ticks.values.isEmpty)
  token.cancel()
}

@MainActor
final class TitleScreen {
  var title = ""
}

@MainActor
func settling(_ library: Library, _ screen: TitleScreen) async {
  library.play("Aria")
  await settle()
  precondition(screen.title == "Aria")
}
