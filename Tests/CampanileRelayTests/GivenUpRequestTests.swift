import Campanile
import TestSupport
import Testing

@testable import CampanileRelay

@Suite("Requests that nobody waits for any more", .timeLimit(.long))
struct GivenUpRequestTests {
  // Broken by: RelayCore.giveUp, if it does not tell the link.
  @Test("The link is told of a request that is canceled, and of one whose time is over")
  func givenUp() async throws {
    let link = RecordingLink()
    let relay = Relay(Relay.Transport { _, _ in link })
    var operations = link.operations.makeAsyncIterator()
    for (limit, code) in [
      (Duration.seconds(3_000), nil), (.milliseconds(1), RelayError.Code.timedOut),
    ] {
      let asking = Task { try await relay.request(raw: [1], to: "q", within: limit) }
      guard case .request(let number, "q", _, _, _)? = await operations.next() else {
        Issue.record("there is no request")
        return
      }
      if code == nil { asking.cancel() }
      guard case .forget([number])? = await operations.next() else {
        Issue.record("the request is not forgotten")
        return
      }
      let result = await asking.result
      #expect(throws: (any Error).self) { try result.get() }
      if let code {
        #expect(throws: RelayError.self) { try result.get() }
        do { _ = try result.get() } catch { #expect((error as? RelayError)?.code == code) }
      }
    }
    relay.cancel()
  }
}
