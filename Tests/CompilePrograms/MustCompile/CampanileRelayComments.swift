// The examples in the comments of the module.
import Campanile
import CampanileRelay

nonisolated struct TrackChanged: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "player.track.changed"
  var title: String
}

nonisolated struct Ring: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "bell.\(\.tower).ring"
  var tower: String
}

nonisolated struct Job: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "job"
}

nonisolated final class Player: Sendable {
  let id = "one"
}

nonisolated struct LevelChanged: RelayedMessage {
  typealias Subject = Player
  static let relaySubject: RelaySubject<Self> = "player.level"
  var level: Float
}

nonisolated struct WhoIsThere: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "who"
}

nonisolated func create(_ center: MessageCenter) {
  let relay = Relay(.host("player"), name: "screen")
  relay.carry(TrackChanged.self, in: center)
  center.post(TrackChanged(title: "Aria"))  // heard in each process that carries the type
}

nonisolated func carry(_ relay: Relay, _ center: MessageCenter, _ players: [String: Player]) {
  relay.carry(TrackChanged.self, in: center)
  relay.carry(Ring.self, in: center, .inward, .where(\.tower, "north"))
  relay.carry(Job.self, in: center, .inward, .oneOf("workers"))  // each job to one of them
  relay.carry(LevelChanged.self, in: center, name: { $0.id }, find: { players[$0] })
}

nonisolated func listen(_ relay: Relay) async {
  for await payload in relay.raw("player.>").values(buffering: .newest(100)) { print(payload) }
}

nonisolated func ask(_ relay: Relay) async throws {
  let names = try await relay.request(WhoIsThere(), as: [String].self, within: .seconds(1))
  print(names)
}

nonisolated func answer(_ relay: Relay) -> ObservationToken {
  let token = relay.answer(WhoIsThere.self) { _ in ["me"] }
  return token
}

#if canImport(Testing) && TESTING_IS_LINKED
  @Test("TrackChanged of earlier versions is understood")
  func samples() throws {
    try RelaySamples().check(TrackChanged(title: "Aria"))
  }
#endif

nonisolated func checkSamples() throws {
  try RelaySamples().check(TrackChanged(title: "Aria"))
}
