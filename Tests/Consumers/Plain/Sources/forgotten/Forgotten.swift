import Campanile
import CampanileInspector

/// Wants a page, without having asked for the trait.
func serve(_ center: MessageCenter) async throws {
  let inspector = Inspector(of: center)
  let page = try await inspector.serve()
  print(page)
}
