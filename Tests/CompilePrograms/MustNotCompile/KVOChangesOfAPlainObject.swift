// expect-error: 12:13: call to main actor-isolated instance method 'changes(of:options:file:line:)' in a synchronous nonisolated context
import CampanileKVO
import Observation

@Observable final class Track {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var title = ""
}

// What a plain object has stays in its isolation: a source of its changes is made on the main actor.
func follow(_ track: Track) {
  _ = track.changes(of: \.title)
}
