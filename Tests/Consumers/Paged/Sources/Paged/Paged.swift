public import Campanile
import CampanileInspector

/// Serves a page of a center for a moment.
public func serve(_ center: MessageCenter) async throws {
  let page = try await Inspector(of: center).serve()
  precondition(page.url.hasPrefix("http://127.0.0.1:"))
  await page.stop()
}
