// not-with-default-isolation: the examples say themselves what is on the main actor.
// The examples in the documentation comments of the module of this name.
import Campanile
import CampanileKVO
import Dispatch
import Observation
import Synchronization

final class Track: Observable {
  @Observed var title = ""
}

final class Player: Observable {
  @Observed var title = ""
  @Observed var level = 0.5
  @Observed var balance = 0.5
  @Observed var currentTrack: Track?
  @Observed var tracks: [Track] = []
  @Observed var tags: Set<String> = []
}

final class Mixer: Observable {
  @Observed var level = 0.5
  @Observed var isMuted = false
}

final class Counter: Sendable, Observable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int {
    registrar.access(self, keyPath: \.count)
    return state.withLock { $0 }
  }
  var name: String { "\(count)" }
}

enum WithTheMacro {
  @Observable final class Player {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var title = ""
  }
}

enum WithTheWrapper {
  final class Player: Observable {
    @Observed var title = ""
    @Observed var tracks: [Track] = []
  }
}

enum WithAController {
  @MainActor final class Screen {
    var title = ""
    lazy var kvo = KVOController(owner: self)

    func show(_ player: Player) {
      kvo.observe(player, \.currentTrack?.title, options: .initial) { screen, player, change in
        screen.title = change.new ?? ""
      }
    }
  }
}

enum WithoutWritingOne {
  @MainActor final class Screen: KVOControllerOwner {
    nonisolated let kvoControllers = KVOControllers()

    func show(_ player: Player) {
      kvoController.observe(player, \.title) { screen, player, change in
        print(change.new)
      }
    }
  }
}

final class Screen {
  var title = ""
  lazy var kvo = KVOController(owner: self)

  func titleChanged(_ player: Player, _ change: KVOChange<String>) { title = change.new }

  func follow(_ player: Player) {
    kvo.observe(player, \.title, options: [.initial, .old]) { screen, player, change in
      screen.title = change.new
    }
    kvo.observe(player, \.title, calling: Screen.titleChanged)
  }

  func followAll(_ player: Player, _ mixer: Mixer) {
    kvo.observe(player, \.title)
    kvo.observe(mixer, [\.level, \.isMuted])
  }
}

extension Screen: KVOChangeHandler {
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
    if change.path == \Player.title { title = "\(change.new)" }
  }
}

final class Panel {
  lazy var kvo = KVOController(owner: self)

  func levelChanged(_ player: Player, _ change: KVOChange<Double>) {}

  func follow(_ player: Player) {
    kvo.observe(player, [\.level, \.balance], calling: Panel.levelChanged)
  }
}

final class Store: Sendable {
  func follow(_ counter: Counter, _ kvo: KVOController<Store>, _ queue: DispatchQueue) {
    kvo.observe(counter, \.count, \.name, on: .queue(queue)) { store, counter, change in
      print(change.new)
    }
  }
}

func read(_ counter: Counter) async {
  for await change in counter.changes(of: \.count).values() {
    print(change.new)
  }
}

func change(_ player: Player) {
  KVOTransaction.perform {
    player.title = "Aria"
    player.level = 0.4
  }
}

func edit(_ player: Player, _ aria: Track, _ bourree: Track) {
  let tracks = player.mutableArray(\.tracks)
  tracks.append(aria)  // an insertion at 0
  tracks[0] = bourree  // a replacement at 0
  tracks.remove(at: 0)  // a removal of what was at 0
}

func tag(_ player: Player) {
  player.mutableSet(\.tags).insert("live")  // an insertion
}
