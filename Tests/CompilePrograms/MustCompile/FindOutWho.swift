// The examples of the guide of this name.
import Campanile
import CampanileInspector

nonisolated struct TitleChanged: MessageCenter.Message { var title: String }
nonisolated struct LevelChanged: MessageCenter.Message { typealias Subject = Player }
nonisolated final class Player: Sendable {}

nonisolated func startNextTrack() {}

nonisolated func findPosters(_ center: MessageCenter) {
  let trace = Trace(of: center)
  startNextTrack()
  print(trace.posters(of: TitleChanged.self))

  for post in trace.posts(of: TitleChanged.self) {
    print(post)
    for caller in post.callers { print("    called by", caller) }
  }
}

nonisolated func findLeaks(_ center: MessageCenter, _ player: Player) {
  print(Registrations(of: center).byLine)

  for hearer in Registrations(of: center, hearing: LevelChanged.self, about: player).all {
    print(hearer)
  }
}

nonisolated final class Watchman: Sendable {
  let token: ObservationToken

  init(_ trace: Trace) {
    self.token = trace.stuck(longerThan: .seconds(2)).observe { call in print("hangs:", call) }
    print(trace.graph())
  }
}

nonisolated func findSlow(_ center: MessageCenter) async throws {
  let trace = Trace(of: center)
  try await Task.sleep(for: .seconds(5))
  print(trace.slowest(5))

  try trace.write(to: "trace.json")

  print(Registrations(of: center).waiting)
}
