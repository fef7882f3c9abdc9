import CampanileRelay
import Foundation
import TestSupport

/// What connects the relays of a test: each a bus of its own.
enum Kind: CaseIterable, Sendable {
  case loopback
  case host

  /// Those with which nobody hears an answer before its question.
  static var withOneOrder: [Kind] { allCases }
  /// Those with which relays share messages, and those with which a poster knows that nobody heard it.
  static var withGroups: [Kind] { allCases }
  static var withUnheard: [Kind] { allCases }

  /// Calls `body` with a bus that is gone afterwards.
  func withBus<Result>(
    _ body: (Relay.Transport) async throws -> Result
  ) async throws -> Result {
    switch self {
    case .loopback: try await body(.loopback("\(UInt64.random(in: 0 ... .max))", silence: .patient))
    case .host:
      try await withFolder { try await body(.test(in: $0.path)) }
    }
  }
}
