import Campanile
import CampanileTesting
import Testing

@testable import CampanileRelay

@Suite("A center that has ended", .timeLimit(.minutes(30)))
struct EndedCenterTests {
  @Test("What was carried in a center that has ended is not received any more")
  func unsubscribes() async throws {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")
    let (one, two) = (Member(bus), Member(bus, carrying: nil))
    two.relay.carry(Tock.self, in: two.center)
    let tocks = Recorder<Int>(timeout: .seconds(600))
    let token = two.center.observe(Tock.self) { tocks.record($0.number) }
    var center: MessageCenter? = MessageCenter()
    if let center { two.relay.carry(Tick.self, in: center) }
    try await two.relay.flush()
    one.relay.carry(Tock.self, in: one.center)
    center = nil
    let routes = two.relay.core.routes
    #expect(routes.find("clock.tick", of: 0).routes.count == 1)
    one.center.post(Tick(number: 1))
    one.center.post(Tock(number: 2))
    #expect(try await tocks.next() == 2)
    #expect(routes.find("clock.tick", of: 0).routes.isEmpty)
    // It can be carried again.
    two.relay.carry(Tick.self, in: two.center)
    try await two.relay.flush()
    one.center.post(Tick(number: 3))
    #expect(try await two.ticks.next() == 3)
    withExtendedLifetime((one, two, token, center)) {}
  }
}
