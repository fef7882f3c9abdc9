// The examples of the module's page.
import Campanile
import CampanileInspector

nonisolated struct LevelChanged: MessageCenter.Message {}

nonisolated func play() {}

nonisolated func look(_ center: MessageCenter, _ state: CurrentValue<Int>) throws {
  let trace = Trace(of: center, state)
  play()
  print(trace.slowest())
  print(trace.posters(of: LevelChanged.self))
  try trace.write(to: "trace.json")
}

#if Page
  nonisolated func serve(_ center: MessageCenter, _ state: CurrentValue<Int>) async throws {
    let inspector = Inspector(of: center, state)
    let page = try await inspector.serve()
    print(page)  // the address, with its secret
  }
#endif
