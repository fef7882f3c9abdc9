import Campanile
import CampanileRelay
import CampanileTesting
import Foundation

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

final class Player: Sendable {
  let id: String
  init(_ id: String) { self.id = id }
}

struct LevelChanged: RelayedMessage, Equatable {
  typealias Subject = Player
  static let relaySubject: RelaySubject<Self> = "player.level"
  var level: Int
}

/// What connects the relays of a test: each a bus of its own.
enum Kind: CaseIterable, Sendable {
  case loopback
  case host

  /// Calls `body` with a bus that is gone afterwards.
  func withBus<Result>(
    _ body: (Relay.Transport) async throws -> Result
  ) async throws -> Result {
    switch self {
    case .loopback: try await body(.loopback("\(UInt64.random(in: 0 ... .max))"))
    case .host:
      try await withFolder { try await body(.host("test", in: $0.path)) }
    }
  }
}

/// Calls `body` with the path of a folder of the user's own, which does not exist yet, and whose name
/// is short.
func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = URL(filePath: "/tmp/c\(UInt32.random(in: 0 ... .max))")
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}

/// What would be a process of its own: a center, and a relay.
final class Member: Sendable {
  let center = MessageCenter()
  let relay: Relay
  let ticks = Recorder<Int>(timeout: .seconds(600))
  let events = Recorder<RelayEvent>(timeout: .seconds(600))
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
