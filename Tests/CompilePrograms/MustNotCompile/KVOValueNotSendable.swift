// expect-error: 'Cover' does not conform to the 'Sendable' protocol
import Campanile
import CampanileKVO
import Observation

final class Cover {}

@MainActor @Observable final class Player {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var cover: Cover = Cover()
}

@MainActor func follow(_ player: Player) {
  _ = player.changes(of: \.cover)
}
