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

  func follow(_ player: Player, _ queue: DispatchQueue) {
    player.changes(of: \.title).observe(owner: self, on: .queue(queue)) { screen, change in
      screen.title = change.new
    }
  }
}
