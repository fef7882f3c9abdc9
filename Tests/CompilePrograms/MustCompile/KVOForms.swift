// Every form of `observe`: the class of the object decides which one it is.
import Campanile
import CampanileKVO
import Dispatch
import Observation

nonisolated final class Counter: SharedObservable {
  var count: Int { 0 }
  var name: String { "" }
}
@MainActor @Observable final class MainPlayer {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var subtitle: String?
  var level = 0
  let counter = Counter()
}
@Observable nonisolated class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var subtitle: String?
  var level = 0
  var next: Player?
  weak var follower: Player?
}
@Observable nonisolated final class LivePlayer: Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var venue = ""
}
@Observable nonisolated final class Shelf<Item> {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var items: [Item] = []
}

@MainActor final class Screen: @MainActor KVOChangeHandler {
  var text = ""
  lazy var kvo = KVOController(owner: self)
  var tokens: [ObservationToken] = []
  var shared: [ObservationToken] = []

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { text = "\(change.new)" }
  func countChanged(_ counter: Counter, _ change: KVOChange<Int>) { text = "" }
  func textChanged(_ player: MainPlayer, _ change: KVOChange<String>) { text = "" }

  func follow(_ player: MainPlayer, _ counter: Counter, _ queue: DispatchQueue) {
    // the controller
    kvo.observe(player, \.title) { screen, player, change in screen.text = change.new }
    kvo.observe(player, \.title, options: .initial) { screen, player, _ in
      screen.text = player.title
    }
    kvo.observe(player, \.title, options: [.initial, .old, .distinct], policy: .append) {
      screen, player, change in
      screen.text = (change.old ?? "") + change.new
    }
    kvo.observe(player, \.subtitle, options: .old) { screen, _, change in
      screen.text = (change.old ?? nil) ?? ""
    }
    kvo.observe(player, \.title, policy: .replace) { $0.textChanged($1, $2) }
    kvo.observe(player, of: { ($0.title, $0.level) }, options: .old) { screen, _, change in
      screen.text = change.new.0
    }
    // the owner's one method
    kvo.observe(player, \.title)
    kvo.observe(player, \.level, options: [.initial, .distinct], policy: .append)
    kvo.observe(player, \.counter.count) { screen, _, change in screen.text = "\(change.new)" }
    // tokens
    tokens.append(
      player.observe(\.title, options: [.prior, .once]) { _, change in print(change.phase) })
    tokens.append(player.observe(of: { ($0.title, $0.level) }) { _, change in print(change.new.1) })
    shared.append(counter.observe(\.count, options: .old) { _, change in print(change.old ?? 0) })
    shared.append(counter.observe(of: { ($0.count, $0.name) }) { _, change in print(change.new.1) })
    // an object for any thread; what the main actor has is not touched there
    kvo.observe(counter, \.count) { _, counter, change in print(counter.name, change.new) }
    kvo.observe(counter, of: { ($0.count, $0.name) }) { _, _, change in print(change.new.0) }
    // deliveries
    player.changes(of: \.title).observe(owner: self, on: .main) { screen, change in
      screen.text = change.new
    }
    player.changes(of: \.title, options: [.initial, .old]).observe(owner: self, on: .queue(queue)) {
      _, change in
      print(change.old ?? "", change.new)
    }
    counter.changes(of: \.count).observe(owner: self, on: .main(ordered: true)) { screen, change in
      screen.text = "\(change.new)"
    }
    counter.changes(of: \.count, options: .distinct).observe(
      owner: self, on: .main, options: .once
    ) { [weak counter] screen, change in
      if let counter { screen.countChanged(counter, change) }
    }
    counter.changes(of: \.name).observeAsync(owner: self) { _, change in
      await Task.yield()
      print(change.new)
    }
  }

  func results(_ player: MainPlayer) {
    let result = kvo.observe(player, \.title) { _, _, _ in }
    switch result.outcome {
    case .added, .alreadyObserved: result.registration.pause()
    case .nothingObserved, .refused: break
    }
  }
}

nonisolated final class Store: Sendable, KVOControllerOwner, KVOChangeHandler {
  let kvoControllers = KVOControllers()

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {}
  func countChanged(_ counter: Counter, _ change: KVOChange<Int>) {}

  func follow(_ counter: Counter, _ queue: DispatchQueue) {
    let kvo = kvoController
    kvo.observe(counter, \.count) { store, counter, change in store.countChanged(counter, change) }
    kvo.observe(counter, \.count, options: [.initial, .old], policy: .append) {
      $0.countChanged($1, $2)
    }
    kvo.observe(counter, of: { ($0.count, $0.name) }, options: .old) { _, _, change in
      print(change.new.0)
    }
    kvo.observe(counter, \.count)
    kvo.observe(counter, \.name, options: .distinct, policy: .replace)
    counter.changes(of: \.count).observe(owner: self, on: .queue(queue)) { _, change in
      print(change.new)
    }
  }
}

nonisolated final class Log: KVOChangeHandler {
  lazy var kvo = KVOController(owner: self)
  var text = ""
  var token: ObservationToken?

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { text = "\(change.new)" }
  func textChanged(_ player: Player, _ change: KVOChange<String>) { text = "" }

  func follow(_ player: Player) {
    kvo.observe(player, \.title) { log, _, change in log.text = change.new }
    kvo.observe(player, \.title, options: .old, policy: .replace) { $0.textChanged($1, $2) }
    kvo.observe(player, of: { ($0.title, $0.level) }) { log, _, change in log.text = change.new.0 }
    kvo.observe(player, \.title)
    kvo.observe(player, \.level, options: .initial)
    token = player.observe(\.subtitle, options: .old) { _, change in
      print((change.old ?? nil) ?? "")
    }
    token = player.observe(of: { ($0.title, $0.level) }) { _, change in print(change.new) }
  }

  func follow(_ live: LivePlayer, _ shelf: Shelf<Int>) {
    kvo.observe(live, \.title) { log, live, _ in log.text = live.venue }
    kvo.observe(live, \.next?.next?.title, options: [.initial, .old, .prior, .distinct]) {
      log, live, change in log.text = live.title + (change.old.flatMap { $0 } ?? "")
    }
    kvo.observe(shelf, \.items) { log, _, change in log.text = "\(change.new.count)" }
    shelf.mutableArray(\.items).append(1)
  }
}

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

@MainActor func read(_ player: MainPlayer) async {
  for await change in player.changes(of: \.title).values() { print(change.new) }
}
