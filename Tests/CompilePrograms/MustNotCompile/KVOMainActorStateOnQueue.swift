// expect-error: main actor-isolated property 'title' can not be mutated
import Campanile
import CampanileKVO
import Dispatch
import Observation

@MainActor @Observable final class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
}

@MainActor final class Screen {
  var title = ""
  lazy var kvo = KVOController(owner: self)

  func follow(_ player: Player, _ queue: DispatchQueue) {
    kvo.observe(player, \.title, on: .queue(queue)) { screen, player, change in
      screen.title = change.new
    }
  }
}
