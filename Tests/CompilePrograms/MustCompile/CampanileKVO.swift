// The example of the landing page.
import CampanileKVO
import Observation

@Observable final class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
}

func example() {
  let player = Player()
  let token = player.observe(\.title, options: .old) { player, change in
    print("\(change.old ?? "") became \(change.new)")
  }
  player.title = "Aria"
  withExtendedLifetime(token) {}
}
