// expect-error: main actor-isolated property 'title'
import CampanileKVO
import Observation

@MainActor @Observable final class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
}

final class Log: Sendable {}

func follow(_ player: Player, _ kvo: KVOController<Log>) {
  kvo.observe(player, \.title) { log, player, change in print(change.new) }
}
