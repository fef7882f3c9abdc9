package import Foundation
package import Testing

// What tests need on a machine that leaves them little time.

extension TimeLimitTrait.Duration {
  /// The limit of a test that would otherwise wait forever.
  ///
  /// All tests begin at once, so it also covers the time in which the others have their turns. It is
  /// shorter than the limit of a step of the gate, so that a test that hangs is named.
  package static var long: Self { .minutes(20) }
}

/// The time that a test gives a request or a reader whose turn comes after those of other tests.
///
/// Only what never comes takes so long.
package let longPatience = Duration.seconds(3_000)

/// Calls `body` with the path of a folder of the user's own, which does not exist yet, and whose name
/// is short.
package func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = URL(filePath: "/tmp/c\(UInt32.random(in: 0 ... .max))")
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}
