// expect-error: 'Track' does not conform to the 'Sendable' protocol
import Campanile
import CampanileKVO
import Dispatch
import Observation

@Observable final class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
}

final class Store: Sendable {}

func follow(_ track: Track, _ kvo: KVOController<Store>, _ queue: DispatchQueue) {
  kvo.observe(track, \.title, on: .queue(queue)) { store, track, change in print(change.new) }
}
