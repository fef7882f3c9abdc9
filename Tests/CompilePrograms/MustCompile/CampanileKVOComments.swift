// The examples in the documentation comments of the module of this name.
import Campanile
import CampanileKVO
import Observation
import Synchronization

final class Track: Observable {
  @Observed var title = ""
  @Observed var isPlayed = false
}

final class Player: Observable {
  @Observed var title = ""
  @Observed var level = 0.5
  @Observed var currentTrack: Track?
  @Observed var tracks: [Track] = []
  @Observed var tags: Set<String> = []
}

final class Mixer: Observable {
  @Observed var level = 0.5
}

nonisolated final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int {
    get { registrar.get(self, \.count, in: state) }
    set { registrar.set(self, \.count, in: state, to: newValue) }
  }
}

nonisolated final class Tally: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int { registrar.get(self, \.count, in: state) }
  func increment() { registrar.update(self, \.count, in: state) { $0 += 1 } }
}

nonisolated final class Disc: SharedObservable {
  struct State { var title = "" }
  private let registrar = KVORegistrar()
  private let state = Mutex(State())

  var title: String {
    get { registrar.get(self, \.title, in: state, \.title) }
    set { registrar.set(self, \.title, in: state, \.title, to: newValue) }
  }
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

  func follow(_ player: Player) {
    kvo.observe(player, \.title, options: [.initial, .old]) { screen, player, change in
      screen.title = change.new
    }
    kvo.observe(player, of: { ($0.level, $0.title) }) { screen, player, change in
      screen.title = change.new.1
    }
  }

  func followAll(_ player: Player, _ mixer: Mixer) {
    kvo.observe(player, \.title)
    kvo.observe(mixer, \.level)
  }
}

extension Screen: KVOChangeHandler {
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
    if change.path == \Player.title { title = "\(change.new)" }
  }
}

nonisolated func read(_ counter: Counter) async {
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
  tracks.sort { $0.title < $1.title }  // moves
}

func editSeveral(_ player: Player, _ aria: Track) {
  player.mutableArray(\.tracks).edit { tracks in
    tracks.removeAll { $0.isPlayed }
    tracks.move(from: 3, to: 0)
    tracks.append(aria)
  }
}

func tag(_ player: Player) {
  player.mutableSet(\.tags).insert("live")  // an insertion
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
