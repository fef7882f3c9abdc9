import Campanile
import CampanileTesting
import TestSupport
import Testing

@testable import CampanileRelay

@Suite("A center that has ended", .ownThread, .timeLimit(.long))
struct EndedCenterTests {
  @Test("What was carried in a center that has ended is not received any more")
  func unsubscribes() async throws {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")
    let (one, two) = (Member(bus), Member(bus, carrying: nil))
    two.relay.carry(Tock.self, in: two.center)
    let tocks = Recorder<Int>(timeout: lostAfter)
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

  private struct Shell { unowned let center: MessageCenter }

  @Test("K16 Few of the centers that have ended are kept, although no address is used again")
  func ownAddresses() {
    let relay = Relay(.loopback("\(UInt64.random(in: 0 ... .max))"))
    // What is named unowned keeps its address.
    var shells: [Shell] = []
    for _ in 0..<1_000 {
      let center = MessageCenter()
      relay.carry(Tick.self, in: center)
      shells.append(Shell(center: center))
    }
    let count = relay.core.carried.state.withLock { $0.ways.count }
    #expect(count <= 64)
    withExtendedLifetime(shells) {}
  }

  @Test(
    "Of centers that have ended a relay keeps few, though nothing arrives",
    arguments: [Relay.Direction.outward, .inward, .bothWays])
  func quiet(direction: Relay.Direction) {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")
    let relay = Relay(bus)
    let lasting = (0..<10).map { _ in MessageCenter() }
    for center in lasting { relay.carry(Tick.self, in: center, direction) }
    for _ in 0..<1_000 { relay.carry(Tick.self, in: MessageCenter(), direction) }
    let carried = relay.core.carried
    #expect((10...64).contains(carried.state.withLock { $0.ways.count }))
    for center in lasting { relay.stopCarrying(Tick.self, in: center) }
    #expect(carried.state.withLock { $0.ways.count } <= 54)
    withExtendedLifetime(lasting) {}
  }
}
