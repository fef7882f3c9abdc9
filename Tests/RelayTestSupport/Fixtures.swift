package import Campanile
package import CampanileRelay
package import CampanileTesting

package struct Tick: RelayedMessage, Equatable {
  package static let relaySubject: RelaySubject<Self> = "clock.tick"
  package var number: Int
  package init(number: Int) { self.number = number }
}

package struct Tock: RelayedMessage, Equatable {
  package static let relaySubject: RelaySubject<Self> = "clock.tock"
  package var number: Int
  package init(number: Int) { self.number = number }
}

package struct Ring: RelayedMessage, Equatable {
  package static let relaySubject: RelaySubject<Self> = "bell.\(\.tower).ring"
  package var tower: String
  package var count: Int
  package init(tower: String, count: Int = 1) { (self.tower, self.count) = (tower, count) }
}

/// Some bytes, as many as a test needs.
package struct Load: RelayedMessage {
  package static let relaySubject: RelaySubject<Self> = "load"
  package var byteCount: Int

  package init(byteCount: Int) { self.byteCount = byteCount }
  package func relayPayload() -> [UInt8] { Array(repeating: 0, count: byteCount) }
  package init(relayPayload: [UInt8], version: Int) { byteCount = relayPayload.count }
}

/// Records each time that it is encoded.
package struct Encoded: RelayedMessage {
  package static let relaySubject: RelaySubject<Self> = "encoded"
  /// The test that posts, and whether the calling task is the one that posts.
  package static let encodings = Recorder<(test: UInt8, isPosting: Bool)>()
  @TaskLocal package static var isPosting = false
  package var test: UInt8

  package init(test: UInt8) { self.test = test }
  package func relayPayload() -> [UInt8] {
    Self.encodings.record((test, Self.isPosting))
    return [test]
  }
  package init(relayPayload: [UInt8], version: Int) { test = relayPayload[0] }
}

package final class Player: Sendable {
  package let id: String
  package init(_ id: String) { self.id = id }
}

package struct LevelChanged: RelayedMessage, Equatable {
  package typealias Subject = Player
  package static let relaySubject: RelaySubject<Self> = "player.level"
  package var level: Int
  package init(level: Int) { self.level = level }
}

/// How long a test waits for what must come.
package let lostAfter = Duration.seconds(30)

extension SilenceLimits {
  /// A minute: however slow the machine is, the hub stays the hub, and each member is waited for.
  package static let patient = Self(ofHub: 600, ofMembers: 600)
}

extension Relay.Transport {
  /// The bus `test` in a folder, with patient processes.
  package static func test(in folder: String, becomesHub: Bool = false) -> Self {
    .host("test", in: folder, becomesHub: becomesHub, silence: .patient)
  }
}

/// What would be a process of its own: a center, and a relay.
package final class Member: Sendable {
  package let center = MessageCenter()
  package let relay: Relay
  package let ticks = Recorder<Int>(timeout: lostAfter)
  package let events = Recorder<RelayEvent>(timeout: lostAfter)
  package let tokens: [ObservationToken]

  package init(
    _ transport: Relay.Transport, _ name: String = "member",
    buffering: RelayBuffering = .newest(), carrying direction: Relay.Direction? = .bothWays
  ) {
    relay = Relay(transport, name: name, buffering: buffering)
    tokens = [
      center.observe(Tick.self) { [ticks] in ticks.record($0.number) },
      relay.events.observe { [events] in events.record($0) },
    ]
    if let direction { relay.carry(Tick.self, in: center, direction) }
  }

  package func post(_ numbers: some Sequence<Int>) {
    for number in numbers { center.post(Tick(number: number)) }
  }
}

/// Returns two members when both are there.
package func connected(_ one: Member, _ two: Member) async throws -> (Member, Member) {
  for member in [one, two] { try await member.relay.flush() }
  return (one, two)
}
