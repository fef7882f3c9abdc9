// Every way to say which key paths, where and who: the form that is chosen follows from the types.
import Campanile
import CampanileKVO
import Dispatch
import Observation

nonisolated final class Counter: Sendable, Observable {
  var count: Int { 0 }
  var name: String { "" }
  var double: Int { 0 }
}
@MainActor @Observable final class MainPlayer {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var artist = ""
  var level = 0
}
@Observable nonisolated final class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
  var artist = ""
  var level = 0
}

@MainActor final class Screen: @MainActor KVOChangeHandler {
  var text = ""
  lazy var kvo = KVOController(owner: self)
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { text = "\(change.new)" }
  func countChanged(_ counter: Counter, _ change: KVOChange<Int>) { text = "" }
  func textChanged(_ player: MainPlayer, _ change: KVOChange<String>) { text = "" }
  func changed(_ player: MainPlayer, _ change: KVOChange<Any>) { text = "" }
  nonisolated func save(_ counter: MainPlayer, _ change: KVOChange<String>) {}
  func follow(_ player: MainPlayer, _ counter: Counter, _ queue: DispatchQueue) {
    // several types
    kvo.observe(player, [\.title, \.level]) { screen, player, _ in screen.text = player.title }
    kvo.observe(player, \.title, \.level, on: .main) { screen, _, change in
      screen.text = "\(change.new)"
    }
    kvo.observe(player, \.title, \.level, \.artist, on: .queue(queue)) { _, _, change in
      print(change.new)
    }
    kvo.observe(counter, \.count, \.name, on: .main) { screen, _, change in
      screen.text = "\(change.new)"
    }
    kvo.observe(counter, \.count, \.name, on: .main.ordered) { screen, _, change in
      screen.text = "\(change.new)"
    }
    kvo.observe(counter, \.count, \.name, on: .queue(queue)) { _, _, change in print(change.new) }
    // one type
    kvo.observe(player, [\.title, \.artist]) { screen, _, change in screen.text = change.new }
    kvo.observe(player, [\.title, \.artist], on: .main) { screen, _, change in
      screen.text = change.new
    }
    kvo.observe(player, [\.title, \.artist], on: .queue(queue)) { _, _, change in print(change.new)
    }
    // methods
    kvo.observe(player, \.title, on: .main, calling: Screen.textChanged)
    kvo.observe(player, \.title, on: .queue(queue), calling: Screen.save)
    kvo.observe(player, [\.title, \.artist], calling: Screen.textChanged)
    kvo.observe(player, [\.title, \.artist], on: .main, calling: Screen.textChanged)
    kvo.observe(player, [\.title, \.artist], on: .queue(queue), calling: Screen.save)
    kvo.observe(player, [\.title, \.level], calling: Screen.changed)
    kvo.observe(counter, \.count, on: .main, calling: Screen.countChanged)
    kvo.observe(counter, [\.count, \.double], on: .main, calling: Screen.countChanged)
    // general
    kvo.observe(player, \.title)
    kvo.observe(player, \.title, options: [.initial, .distinct])
    kvo.observe(player, [\.title, \.artist])
    kvo.observe(player, [\.title, \.level])
    kvo.observe(player, \.title, on: .main)
    kvo.observe(player, \.title, \.level, on: .main)
    kvo.observe(counter, \.count, on: .main)
    kvo.observe(counter, \.count, \.name, on: .main)
  }
}
nonisolated final class Store: Sendable, KVOControllerOwner, KVOChangeHandler {
  let kvoControllers = KVOControllers()
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {}
  func countChanged(_ counter: Counter, _ change: KVOChange<Int>) {}
  func follow(_ counter: Counter, _ queue: DispatchQueue) {
    let kvo = kvoController
    kvo.observe(counter, \.count, \.name) { _, _, change in print(change.new) }
    kvo.observe(counter, \.count, \.name, options: [.initial, .old], on: .queue(queue)) {
      _, _, change in print(change.new)
    }
    kvo.observe(counter, [\.count, \.double], calling: Store.countChanged)
    kvo.observe(counter, [\.count, \.double], on: .queue(queue), calling: Store.countChanged)
    kvo.observe(counter, \.count)
    kvo.observe(counter, \.count, on: .queue(queue))
    kvo.observe(counter, \.count, \.name)
    kvo.observe(counter, \.count, \.name, on: .queue(queue))
  }
  @MainActor func follow(_ player: MainPlayer, _ queue: DispatchQueue) {
    let kvo = kvoController
    kvo.observe(player, \.title, on: .queue(queue))
    kvo.observe(player, \.title, \.level, on: .queue(queue))
  }
}
nonisolated final class Log: KVOChangeHandler {
  lazy var kvo = KVOController(owner: self)
  var text = ""
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { text = "\(change.new)" }
  func textChanged(_ player: Player, _ change: KVOChange<String>) { text = "" }
  func changed(_ player: Player, _ change: KVOChange<Any>) { text = "" }
  func follow(_ player: Player) {
    kvo.observe(player, \.title)
    kvo.observe(player, [\.title, \.artist])
    kvo.observe(player, [\.title, \.level])
    kvo.observe(player, [\.title, \.artist], calling: Log.textChanged)
    kvo.observe(player, [\.title, \.level], calling: Log.changed)
    kvo.observe(player, [\.title, \.level]) { log, _, _ in log.text = "" }
  }
}
