import CampanileNATS
import CampanileRelay
import TestSupport
import Testing

/// What connects the relays of a test: a server of each version.
struct Kind: CaseIterable, Sendable, CustomTestStringConvertible {
  let program: String
  /// Whether a stream stores the messages.
  var isStored = false

  static let allCases = NATSServer.programs.map { Kind(program: $0) }

  /// A server promises no order over several senders.
  static var withOneOrder: [Kind] { [] }
  static let withGroups = allCases + allCases.map { Kind(program: $0.program, isStored: true) }
  /// A server does not say whether anybody hears a post.
  static var withUnheard: [Kind] { [] }

  var testDescription: String { isStored ? "\(program), stored" : program }

  /// Calls `body` with a bus that is gone afterwards.
  func withBus<Result>(
    _ body: (Relay.Transport) async throws -> Result
  ) async throws -> Result {
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
      preconditionFailure("The trait NATS is off, so that there are no servers")
    #endif
  }
}
