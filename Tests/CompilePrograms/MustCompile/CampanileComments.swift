// The examples in the documentation comments of the module of this name.
import Campanile
import Dispatch

struct TrackChanged: MessageCenter.Message { var title: String }

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player  // what a message of this type can be about
  var level: Float
}

struct Track: Sendable {}

@MainActor
final class Button {
  var isSelected = false
}

final class Player: Sendable {
  private let state = CurrentValue(false)
  var isPlaying: ReadOnlyState<Bool> { state.readOnly }

  func stop() { state.value = false }

  func follow(_ player: Player, _ button: Button) {
    player.isPlaying.observe(owner: button, on: .main, options: .initial) { button, isPlaying in
      button.isSelected = isPlaying
    }
    state.value = true
  }
}

@MainActor
final class WrappedPlayer {
  @CurrentValue private(set) var isPlaying = false

  func follow(_ player: WrappedPlayer, _ button: Button) {
    player.$isPlaying.observe(owner: button, on: .main, options: .initial) { button, isPlaying in
      button.isSelected = isPlaying
    }
  }
}

enum ReadOnlyFace {
  final class Player {
    private let finishes = Broadcaster<Track>()
    var finished: Signal<Track> { finishes.signal }
  }
}

enum Lifetimes {
  final class Screen: LifetimeOwner {
    let lifetime = Lifetime()
  }
}

@MainActor
protocol PlayerDelegate: AnyObject {
  func playerDidFinish(_ track: Track)
  func cover(of track: Track) -> String?
  func mayStop(_ player: Player) -> Bool
}

@MainActor
final class Screen: PlayerDelegate {
  private let observations = TokenBag()
  private let player: Player
  var title = ""

  init(_ player: Player) { self.player = player }

  func load() {
    player.isPlaying.observe(owner: self, on: .main) { $0.show($1) }.store(in: observations)
  }
  func willAppear() { observations.resume() }
  func didDisappear() { observations.pause() }

  func show(_ isPlaying: Bool) { title = isPlaying ? "playing" : "silent" }

  func follow(_ state: CurrentValue<Bool>) {
    state.observe(owner: self, on: .main, options: [.initial, .distinct]) { screen, isPlaying in
      screen.show(isPlaying)
    }
  }

  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      screen.title = message.title  // main-actor state: the compiler checks it
    }
  }

  func delegate(_ track: Track) {
    let delegates = Multicast<any PlayerDelegate>()
    delegates.add(self)
    delegates.call { $0.playerDidFinish(track) }
    let cover = delegates.first { $0.cover(of: track) }
    if delegates.allSatisfy({ $0.mayStop(player) }) { player.stop() }
    print(cover ?? "none")
  }

  func playerDidFinish(_ track: Track) {}
  func cover(of track: Track) -> String? { nil }
  func mayStop(_ player: Player) -> Bool { true }
}

nonisolated final class Log: Sendable {
  func append(_ title: String) { print(title) }

  func follow(_ center: MessageCenter, on decoder: DispatchQueue) {
    center.observe(TrackChanged.self, owner: self, on: .queue(decoder)) { track, message in
      track.append(message.title)
    }
  }
}

final class Holder {
  private var token: ObservationToken?

  func hold(_ center: MessageCenter) {
    self.token = center.observe(TrackChanged.self) { print($0.title) }
    self.token = nil  // hears nothing from here on
  }

  func holdAll(_ center: MessageCenter) {
    self.token = center.anyMessage.observe { print($0.message) }
  }
}

func tick() {
  let ticks = Broadcaster<Int>()
  let token = ticks.observe { print("tick \($0)") }
  ticks.send(1)  // prints "tick 1"
  withExtendedLifetime(token) {}
}

@MainActor
func post(to screen: Screen) {
  let center = MessageCenter()
  center.observe(TrackChanged.self, owner: screen, on: .main) { screen, message in
    screen.title = message.title
  }
  center.post(TrackChanged(title: "Aria"))
}

nonisolated final class Trace: Sendable {
  func record(_ event: SourceEvent) { print(event) }
}

final class EventLog {
  private var token: ObservationToken?

  func start(_ trace: Trace) {
    self.token = MessageCenter.default.events.observe { event in trace.record(event) }
  }
}

nonisolated final class Drops: Sendable {
  func increment() {}
}

final class DropCounter {
  private var token: ObservationToken?

  func start(_ drops: Drops) {
    self.token = MessageCenter.default.events.observe { event in
      if event.kind == .dropped { drops.increment() }
    }
  }
}

nonisolated enum Request { @TaskLocal static var id: String? }

func waitForTrack(_ center: MessageCenter) async throws {
  let track = try await center.messages(of: TrackChanged.self).next(within: .seconds(5))
  print(track.title)
}

nonisolated final class SleepTimer: Sendable {
  func restart() {}
}

func stayAwake(_ timer: SleepTimer, _ keys: Broadcaster<Int>, _ clicks: Broadcaster<Int>) {
  let activity = keys.merged(with: clicks)
  activity.observe(owner: timer) { timer, _ in timer.restart() }
}

nonisolated func carryRequests() {
  ContextCarrier(Request.$id).install()
}

final class FailureLog {
  private var token: ObservationToken?

  func start(_ log: @escaping @Sendable (String) -> Void) {
    self.token = MessageCenter.default.failures.observe { failure in log(failure.description) }
  }
}

nonisolated struct EventLoop {
  func execute(_ work: @escaping @Sendable () -> Void) { DispatchQueue.global().async { work() } }
}

nonisolated let myEventLoop = EventLoop()

final class Loop: DeliveryTarget {
  let mailbox = Mailbox()
  func enqueue(_ job: DeliveryJob) { myEventLoop.execute { job.run() } }
}

struct Key: Sendable {}

struct Keyboard: ObservationSource {
  private let keys = Broadcaster<Key>()
  var signal: Signal<Key> { keys.signal }
}

enum ReadOnlyStates {
  final class Player {
    private let state = CurrentValue(false)
    var isPlaying: ReadOnlyState<Bool> { state.readOnly }
  }

  @MainActor
  final class Button {
    var isEnabled = false
  }

  @MainActor
  static func follow(_ player: Player, _ button: Button) {
    player.isPlaying.map { !$0 }.observe(owner: button, on: .main, options: [.initial, .distinct]) {
      button, isEnabled in button.isEnabled = isEnabled
    }
  }
}

@MainActor
final class Counter {
  var count = 0
  var title = ""
  var token: ObservationToken?

  func show(_ level: Float) { title = "\(level)" }

  func follow(_ ticks: Broadcaster<Int>) async {
    ticks.observe(owner: self, on: .main) { screen, tick in screen.count = tick }
    token = ticks.observe { print($0) }
    for await tick in ticks.values(buffering: .newest(16)) { print(tick) }
  }

  func follow(_ center: MessageCenter, _ player: Player) async {
    center.messages(of: LevelChanged.self, about: player)
      .observe(owner: self, on: .main) { meter, message in meter.show(message.level) }
    for await message in center.messages(of: TrackChanged.self).values(buffering: .newest(16)) {
      print(message.title)
    }
  }

  func begin(_ center: MessageCenter) {
    center.latest(of: TrackChanged.self).observe(owner: self, on: .main, options: .initial) {
      screen, message in screen.title = message?.title ?? "nothing"
    }
  }
}

func total(
  _ items: CurrentValue<[String]>, _ prices: CurrentValue<[String: Int]>,
  _ currency: CurrentValue<String>
) -> ReadOnlyState<String> {
  let total = items.combined(with: prices, currency) { items, prices, currency in
    "\(items.reduce(0) { $0 + prices[$1, default: 0] }) \(currency)"
  }
  return total
}

nonisolated final class Microphone: Sendable {
  func start() {}
  func stop() {}
}

@MainActor
final class Rows {
  private(set) var rows: [String] = []

  func apply(_ difference: CollectionDifference<String>) {
    rows = rows.applying(difference) ?? rows
  }
}

@MainActor
final class Slider {
  var volume = 0
  var token: ObservationToken?

  func follow(_ volumeChanges: Signal<Int>) {
    let volume = volumeChanges.state(initially: 5)
    volume.observe(owner: self, on: .main, options: .initial) { slider, volume in
      slider.volume = volume
    }
  }

  func follow(_ rows: CurrentValue<[String]>, _ list: Rows) {
    token = rows.changes.observe(on: .main) { change in
      list.apply(change.new.difference(from: change.old ?? []))
    }
  }

  func follow(_ levels: Broadcaster<Float>, _ microphone: Microphone) {
    token = levels.isObserved.observe(options: .initial) { isObserved in
      if isObserved { microphone.start() } else { microphone.stop() }
    }
  }
}
