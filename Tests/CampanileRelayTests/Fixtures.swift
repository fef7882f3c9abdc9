import Campanile
import CampanileRelay
import CampanileTesting

struct Tick: RelayedMessage, Equatable {
  static let relaySubject: RelaySubject<Self> = "clock.tick"
  var number: Int
}

struct Tock: RelayedMessage, Equatable {
  static let relaySubject: RelaySubject<Self> = "clock.tock"
  var number: Int
}

struct Ring: RelayedMessage, Equatable {
  static let relaySubject: RelaySubject<Self> = "bell.\(\.tower).ring"
  var tower: String
  var count = 1
}

/// Some bytes, as many as a test needs.
struct Load: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "load"
  var byteCount: Int

  init(byteCount: Int) { self.byteCount = byteCount }
  func relayPayload() -> [UInt8] { Array(repeating: 0, count: byteCount) }
  init(relayPayload: [UInt8], version: Int) { byteCount = relayPayload.count }
}

/// Records each time that it is encoded.
struct Encoded: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "encoded"
  /// The test that posts, and whether the calling task is the one that posts.
  static let encodings = Recorder<(test: UInt8, isPosting: Bool)>()
  @TaskLocal static var isPosting = false
  var test: UInt8

  init(test: UInt8) { self.test = test }
  func relayPayload() -> [UInt8] {
    Self.encodings.record((test, Self.isPosting))
    return [test]
  }
  init(relayPayload: [UInt8], version: Int) { test = relayPayload[0] }
}

final class Player: Sendable {
  let id: String
  init(_ id: String) { self.id = id }
}

struct LevelChanged: RelayedMessage, Equatable {
  typealias Subject = Player
  static let relaySubject: RelaySubject<Self> = "player.level"
  var level: Int
}

/// How long a test waits for what must come.
let lostAfter = Duration.seconds(30)

extension SilenceLimits {
  /// A minute: however slow the machine is, the hub stays the hub, and each member is waited for.
  static let patient = Self(ofHub: 600, ofMembers: 600)
}

extension Relay.Transport {
  /// The bus `test` in a folder, with patient processes.
  static func test(in folder: String, becomesHub: Bool = false) -> Self {
    .host("test", in: folder, becomesHub: becomesHub, silence: .patient)
  }
}

/// What would be a process of its own: a center, and a relay.
final class Member: Sendable {
  let center = MessageCenter()
  let relay: Relay
  let ticks = Recorder<Int>(timeout: lostAfter)
  let events = Recorder<RelayEvent>(timeout: lostAfter)
  private let tokens: [ObservationToken]

  init(
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

  func post(_ numbers: some Sequence<Int>) {
    for number in numbers { center.post(Tick(number: number)) }
  }
}
