// isolated to the main actor by default
// expect-error: main actor-isolated conformance of 'Price' to 'Decodable' cannot satisfy conformance requirement for a 'Sendable' type parameter
import CampanileRelay

struct Price: Codable { var crowns: Int }
struct PriceWanted: RelayedMessage { static let relaySubject: RelaySubject<Self> = "price" }

func ask(_ relay: Relay) async throws -> Price {
  try await relay.request(PriceWanted(), within: .seconds(1))
}
