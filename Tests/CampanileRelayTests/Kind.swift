import CampanileRelay
import Foundation
@_exported import RelayTestSupport
import TestSupport
import Testing

#if NATS
  import CampanileNATS
#endif

/// What connects the relays of a test: each a bus of its own.
enum Kind: CaseIterable, Sendable, CustomTestStringConvertible {
  case loopback
  case host
  /// A server of NATS.
  ///
  /// - Parameter isStored: Whether a stream stores the messages.
  case server(_ program: String, isStored: Bool = false)

  /// A server promises no order over several senders, and doesn't say whether anybody hears a post.
  static let ofOneHost: [Kind] = [.loopback, .host]
  /// Those of one host, and a server of each version.
  static let allCases = ofOneHost + NATSServer.programs.map { .server($0) }
  /// Those with which relays share messages.
  static let withGroups = allCases + NATSServer.programs.map { .server($0, isStored: true) }

  var testDescription: String {
    switch self {
    case .loopback: "loopback"
    case .host: "host"
    case .server(let program, let isStored): isStored ? "\(program), stored" : program
    }
  }

  /// Calls `body` with a bus that is gone afterwards.
  func withBus<Result>(
    _ body: (Relay.Transport) async throws -> Result
  ) async throws -> Result {
    switch self {
    case .loopback:
      return try await body(.loopback("\(UInt64.random(in: 0 ... .max))", silence: .patient))
    case .host:
      return try await withFolder { try await body(.test(in: $0.path)) }
    case .server(let program, let isStored):
      #if NATS
        return try await serverPlaces.withPlace {
          let server = try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
          defer { server.kill() }
          return try await body(
            isStored
              ? .nats(server.url, .durable("S", creating: ["clock.>"]), .pedantic)
              : .nats(server.url, .pedantic))
        }
      #else
        preconditionFailure("The trait NATS is off: \(program), \(isStored)")
      #endif
    }
  }
}
