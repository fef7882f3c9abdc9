// not-with-default-isolation: the examples say themselves what is on the main actor.
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
  var volume: String { "\(Int(level * 100)) %" }
}

final class Counter: Sendable, Observable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int {
    get {
      registrar.access(self, keyPath: \.count)
      return state.withLock { $0 }
    }
    set {
      registrar.withMutation(of: self, keyPath: \.count) { state.withLock { $0 = newValue } }
    }
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
  panel.kvo.observe(player, \.level, calling: Panel.levelChanged)
  panel.kvo.observe(player, [\.level, \.current]) { panel, player, change in
    print(change.path == \Player.level ? "level" : "track", change.new)
  }
  panel.kvo.observe(player, \.volume)
  panel.kvo.observe(player, [\.current, \.tracks])
}

final class Meter {
  var token: KVOToken?

  func follow(_ player: Player) {
    token = player.observe(\.level, options: [.initial, .distinct]) { player, change in
      print(change.new)
    }
  }
}

func read(_ counter: Counter) async {
  for await change in counter.changes(of: \.count).values() {
    print(change.new)
  }
}

final class Store: Sendable, KVOControllerOwner {
  let kvoControllers = KVOControllers()
  func save(_ count: Int) {}
}

func follow(_ counter: Counter, _ store: Store, _ queue: DispatchQueue) {
  store.kvoController.observe(counter, \.count, on: .queue(queue)) { store, counter, change in
    store.save(change.new)
  }
  store.kvoController.observe(counter, \.count, \.name, on: .queue(queue)) { _, _, change in
    print(change.path == \Counter.name ? "name" : "count", change.new)
  }
}

func rearrange(_ player: Player, _ aria: Track) {
  let tracks = player.mutableArray(\.tracks)
  tracks.insert(aria, at: 0)
  tracks.swapAt(0, 1)
  tracks.removeAll { $0.title.isEmpty }
}

func list(_ player: Player) -> KVOToken {
  player.observe(\.tracks, options: .old) { player, change in
    switch change.kind {
    case .insertion: print("inserted at", change.indexes as Any)
    case .removal: print("removed from", change.indexes as Any)
    case .replacement: print("replaced at", change.indexes as Any)
    case .setting: print("now", change.new.count)
    }
  }
}

func reset(_ player: Player) {
  KVOTransaction.perform {
    player.current = nil
    player.tracks = []
    player.level = 0.5
  }
}
