// The examples of the guide of this name.
import Campanile
import CampanileKVO
import Dispatch
import Observation
import Synchronization

@Observable final class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var seconds = 0
}

final class Player: Observable {
  @Observed var current: Track?
  @Observed var tracks: [Track] = []
  @Observed var level = 0.5
  @Observed var balance = 0.0
  var volume: String { "\(Int(level * 100)) %" }
}

@Observable final class Preset: Codable {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var level = 0.5

  private enum CodingKeys: String, CodingKey { case _level = "level" }
}

nonisolated final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int {
    get { registrar.get(self, \.count, in: state) }
    set { registrar.set(self, \.count, in: state, to: newValue) }
  }
  var name: String { "counter at \(count)" }
}

@MainActor final class MainPlayer: Observable {
  @Observed var current: Track?
  @Observed var level = 0.5
  var volume: String { "\(Int(level * 100)) %" }
}

@MainActor final class Screen {
  var title = ""
  var volume = ""
  lazy var kvo = KVOController(owner: self)

  func show(_ player: MainPlayer) {
    kvo.observe(player, \.current?.title, options: .initial) { screen, player, change in
      screen.title = change.new ?? ""
    }
    kvo.observe(player, \.volume) { screen, player, change in
      screen.volume = change.new
    }
  }

  func hide(_ player: MainPlayer) {
    kvo.unobserve(player)
  }
}

final class Panel: KVOChangeHandler {
  lazy var kvo = KVOController(owner: self)
  func levelChanged(_ player: Player, _ change: KVOChange<Double>) {}
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {}
}

func follow(_ player: Player, _ panel: Panel) {
  panel.kvo.observe(player, \.level) { $0.levelChanged($1, $2) }
  panel.kvo.observe(player, of: { ($0.level, $0.current) }) { panel, player, change in
    let isLevel = change.changedPaths.contains { $0 == \Player.level }
    print(isLevel ? "level" : "track", change.new.0)
  }
  for path in [\Player.level, \.balance] {
    panel.kvo.observe(player, path, policy: .append) { panel, player, change in
      print(change.path == \Player.level ? "level" : "balance", change.new)
    }
  }
  panel.kvo.observe(player, \.volume)
}

final class Backup {
  lazy var kvo = KVOController(owner: self) { failure in print(failure) }

  func follow(_ player: Player) {
    kvo.observe(player, \.level) { backup, player, change in try backup.save(change.new) }
  }

  func save(_ level: Double) throws {}
}

nonisolated final class Store: Sendable, KVOControllerOwner {
  let kvoControllers = KVOControllers()
  func save(_ count: Int) {}

  func follow(_ counter: Counter) {
    kvoController.observe(counter, \.count, options: .distinct) { store, counter, change in
      store.save(change.new)
    }
  }
}

final class Meter {
  var token: ObservationToken?

  func follow(_ player: Player) {
    token = player.observe(\.level, options: [.initial, .distinct]) { player, change in
      print(change.new)
    }
  }
}

nonisolated func watch(_ counter: Counter, _ store: Store, _ queue: DispatchQueue) {
  store.kvoController.observe(counter, \.count, on: .queue(queue)) { store, counter, change in
    store.save(change.new)
  }
}

@MainActor final class Label {
  var text = ""

  func follow(_ counter: Counter) {
    counter.changes(of: \.count, options: .initial).observe(owner: self, on: .main) {
      label, change in
      label.text = "\(change.new)"
    }
  }
}

nonisolated func follow(_ counter: Counter, _ store: Store, _ queue: DispatchQueue) {
  counter.changes(of: \.count).observe(owner: store, on: .queue(queue)) { store, change in
    store.save(change.new)
  }
}

nonisolated func read(_ counter: Counter) async {
  for await change in counter.changes(of: \.count).values() {
    print(change.new)
  }
}

func report(_ player: Player) -> ObservationToken {
  player.observe(\.current?.title, options: .old) { player, change in
    print((change.old ?? nil) ?? "nothing", "became", change.new ?? "nothing")
  }
}

@MainActor protocol Model: AnyObject, Observable {
  var title: String { get }
}

@MainActor func show(_ model: some Model, on screen: Screen) {
  screen.kvo.observe(model, \.title) { screen, model, change in
    screen.title = change.new
  }
}

@MainActor func showAny(_ model: any Model, on screen: Screen) { show(model, on: screen) }

func rearrange(_ player: Player, _ aria: Track) {
  let tracks = player.mutableArray(\.tracks)
  tracks.insert(aria, at: 0)
  tracks.swapAt(0, 1)
  tracks.removeAll { $0.title.isEmpty }
}

func list(_ player: Player) -> ObservationToken {
  player.observe(\.tracks) { player, change in
    switch change.kind {
    case .insertion(let indexes): print("inserted at", indexes)
    case .removal(let indexes): print("removed from", indexes)
    case .replacement(let indexes): print("replaced at", indexes)
    case .edits(let removals, let insertions, let moves): print(removals, insertions, moves)
    case .setting: print("now", change.new.count)
    }
  }
}

func apply(_ change: KVOChange<[Track]>, to rows: inout [Track]) {
  guard case .edits(var leaving, var coming, let moves) = change.kind else {
    rows = change.new
    return
  }
  for move in moves {
    leaving.insert(contentsOf: move.from..<move.from + 1)
    coming.insert(contentsOf: move.to..<move.to + 1)
  }
  rows.removeSubranges(leaving)
  for index in coming.ranges.joined() { rows.insert(change.new[index], at: index) }
}

func tidy(_ player: Player, _ aria: Track) {
  player.mutableArray(\.tracks).edit { tracks in
    tracks.removeAll { $0.title.isEmpty }
    tracks.sort { $0.title < $1.title }
    tracks.append(aria)
  }
}

func reset(_ player: Player) {
  KVOTransaction.perform {
    player.current = nil
    player.tracks = []
    player.level = 0.5
  }
}

// An object with constant references alone.
final class Stage: Observable {
  let player = Player()
}

func follow(_ stage: Stage, _ panel: Panel) {
  panel.kvo.observe(stage, \.player.level, policy: .replace).registration.pause()
}

// What SwiftUI has.
@MainActor protocol View {}

struct Image: View {
  init(systemName: String) {}
}

@propertyWrapper struct State<Value> {
  let wrappedValue: Value
  init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  init(initialValue: Value) { self.init(wrappedValue: initialValue) }
}

@MainActor enum InAView {
  final class Player {
    let isPlaying = CurrentValue(false)
  }

  struct PlayButton: View {
    @State private var isPlaying: ObservableState<Bool>

    init(_ player: Player) {
      _isPlaying = State(initialValue: ObservableState(player.isPlaying))
    }

    var body: some View { Image(systemName: isPlaying.value ? "pause" : "play") }
  }
}
