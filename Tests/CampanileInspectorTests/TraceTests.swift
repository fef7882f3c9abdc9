import Campanile
import CampanileInspector
import TestSupport
import Testing

struct Rang: MessageCenter.Message {
  var number = 0
}

struct Answered: MessageCenter.Message {}

@Suite("A trace of sources")
struct TraceTests {
  @Test("A trace follows observers that are there already, and nothing after it has stopped")
  func attach() {
    let center = MessageCenter()
    let token = center.observe(Rang.self) { _ in }
    center.post(Rang())
    let trace = Trace(of: center)
    center.post(Rang())
    trace.stop()
    center.post(Rang())
    #expect(trace.posts.count == 1)
    #expect(trace.posts(of: Rang.self).first?.calls.count == 1)
    withExtendedLifetime(token) {}
  }
}
