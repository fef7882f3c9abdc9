// The class of the object decides the form: nothing is said about isolation.
import Campanile
import CampanileKVO
import Dispatch
import Observation
import Synchronization

// A plain class, observed by a plain owner.
@Observable nonisolated class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var length = 0
  var next: Track?
  var tags: [String] = []
  weak var cover: Track?
  var line: String { "\(title) \(length)" }
}

@Observable nonisolated final class LiveTrack: Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var venue = ""
}

@Observable nonisolated final class Shelf<Item> {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var items: [Item] = []
}

nonisolated final class Wrapped: Observable {
  @Observed var title = ""
  @Observed var levels: [Int] = []
}

nonisolated final class Log {
  var lines: [String] = []
  lazy var kvo = KVOController(owner: self)

  func follow(_ track: Track, _ live: LiveTrack, _ shelf: Shelf<Int>, _ wrapped: Wrapped) {
    kvo.observe(track, \.title) { log, _, change in log.lines.append(change.new) }
    kvo.observe(track, \.next?.next?.title, options: [.initial, .old, .prior, .distinct]) {
      log, track, change in
      log.lines.append(track.title + (change.old.flatMap { $0 } ?? "") + (change.new ?? ""))
    }
    kvo.observe(live, \.title) { log, live, _ in log.lines.append(live.venue) }
    kvo.observe(track, of: { ($0.title, $0.length) }) { log, _, change in
      log.lines.append("\(change.new)")
    }
    kvo.observe(shelf, \.items) { log, _, change in log.lines.append("\(change.new.count)") }
    kvo.observe(wrapped, \.title) { $0.titleChanged($1, $2) }
    shelf.mutableArray(\.items).append(1)
  }

  func titleChanged(_ wrapped: Wrapped, _ change: KVOChange<String>) { lines.append(change.new) }
}

// A class on the main actor, observed by one that is there too.
@MainActor @Observable final class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  let counter = Counter()
}

@MainActor final class Screen: KVOControllerOwner {
  nonisolated let kvoControllers = KVOControllers()
  var title = ""
  lazy var kvo = KVOController(owner: self)
  var token: ObservationToken?

  func follow(_ player: Player, _ counter: Counter, _ queue: DispatchQueue) {
    kvo.observe(player, \.title, options: .initial) { screen, player, change in
      screen.title = change.new + player.title
    }
    player.changes(of: \.title).observe(owner: self, on: .main) { screen, change in
      screen.title = change.new
    }
    player.changes(of: \.title).observe(owner: self, on: .queue(queue)) { _, change in
      print(change.new)
    }
    kvo.observe(player, \.title, policy: .append) { $0.titleChanged($1, $2) }
    kvo.observe(player, \.counter.count) { screen, _, change in screen.title = "\(change.new)" }
    counter.changes(of: \.count).observe(owner: self, on: .main) { [counter] screen, change in
      screen.title = "\(change.new) \(counter.count)"
    }
    counter.changes(of: \.double).observe(owner: self, on: .queue(queue)) { _, change in
      print(change.new)
    }
    kvoController.observe(player, \.title) { screen, _, change in screen.title = change.new }
    token = player.observe(\.title) { [kvo] player, change in
      print(change.new, kvo.observationCount)
    }
  }

  func titleChanged(_ player: Player, _ change: KVOChange<String>) { title = change.new }
}

// A class whose state is behind a lock, observed from anywhere.
nonisolated final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int {
    get { registrar.get(self, \.count, in: state) }
    set { registrar.set(self, \.count, in: state, to: newValue) }
  }
  var double: Int { count * 2 }
}

nonisolated final class Store: Sendable {
  func follow(_ counter: Counter, _ queue: DispatchQueue) -> [ObservationToken] {
    let kvo = KVOController(owner: self)
    kvo.observe(counter, \.count) { _, counter, change in print(counter.double, change.new) }
    counter.changes(of: \.count).observe(owner: self, on: .queue(queue)) { store, change in
      store.save(change.new)
    }
    return [
      counter.observe(\.count) { _, change in print(change.new) },
      counter.changes(of: \.count).observe(on: .queue(queue)) { change in print(change.new) },
      counter.changes(of: \.count).observe(on: .main) { change in show(change.new) },
      counter.changes(of: \.double).observe { print($0.new) },
    ]
  }

  func save(_ count: Int) {}
}

@MainActor func show(_ count: Int) {}

actor Statistics {
  var sum = 0

  func follow(_ counter: Counter) {
    counter.changes(of: \.count).observe(on: self) { statistics, change in
      statistics.sum += change.new
    }
  }

  func read(_ counter: Counter) async {
    for await change in counter.changes(of: \.count).values(buffering: .newest(1)) {
      sum += change.new
    }
  }
}

@MainActor func read(_ player: Player) async {
  for await change in player.changes(of: \.title).values() { print(change.new) }
}
