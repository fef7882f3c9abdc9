// The examples in the comments of the module.
import Campanile
import CampanileInspector

nonisolated struct LevelChanged: MessageCenter.Message { typealias Subject = Player }
nonisolated final class Player: Sendable {}

nonisolated func trace(_ center: MessageCenter) throws {
  let trace = Trace(of: center)
  center.post(LevelChanged(), about: Player())
  print(trace.slowest())
  print(trace.posters(of: LevelChanged.self))
  try trace.write(to: "trace.json")
}

nonisolated struct Log: Sendable {
  func warning(_ text: String) {}
}

nonisolated final class Watchman: Sendable {
  let token: ObservationToken

  init(_ trace: Trace, _ center: MessageCenter, _ player: Player, _ log: Log) {
    token = trace.stuck(longerThan: .seconds(2)).observe { call in log.warning("\(call)") }
    print(trace.graph())  // in the DOT language: dot -Tsvg
    print(Registrations(of: center).byLine)
    print(Registrations(of: center, hearing: LevelChanged.self, about: player).all)
  }
}

#if Page
  nonisolated func serve(_ center: MessageCenter) async throws {
    let inspector = Inspector(of: center)
    let page = try await inspector.serve()
    print(page)  // the address, with its secret
  }
#endif
