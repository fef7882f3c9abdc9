import CampanileNATS
import CampanileRelay
import TestSupport
import Testing

/// What connects the relays of a test: a server of each version.
struct Kind: CaseIterable, Sendable, CustomTestStringConvertible {
  let program: String

  static let allCases = NATSServer.programs.map { Kind(program: $0) }

  /// A server promises no order over several senders.
  static var withOneOrder: [Kind] { [] }

  var testDescription: String { program }

  /// Calls `body` with a bus that is gone afterwards.
  func withBus<Result>(
    _ body: (Relay.Transport) async throws -> Result
  ) async throws -> Result {
    #if NATS
      return try await serverPlaces.withPlace {
        let server = try NATSServer(program)
        defer { server.kill() }
        return try await body(.nats(server.url, .pedantic))
      }
    #else
      preconditionFailure("The trait NATS is off, so that there are no servers")
    #endif
  }
}
