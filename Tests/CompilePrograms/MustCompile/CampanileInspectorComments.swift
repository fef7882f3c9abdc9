// The examples in the comments of the module.
import Campanile
import CampanileInspector

nonisolated struct LevelChanged: MessageCenter.Message {}

nonisolated func trace(_ center: MessageCenter) throws {
  let trace = Trace(of: center)
  center.post(LevelChanged())
  print(trace.slowest())
  print(trace.posters(of: LevelChanged.self))
  try trace.write(to: "trace.json")
}

#if Page
  nonisolated func serve(_ center: MessageCenter) async throws {
    let inspector = Inspector(of: center)
    let page = try await inspector.serve()
    print(page)  // the address, with its secret
  }
#endif
