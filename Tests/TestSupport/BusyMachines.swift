import Campanile
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

/// Makes attempts until one succeeds; a test has failed if none does.
///
/// - Parameters:
///   - count: The number of attempts. It is small where nothing shows that the machine is to blame.
///   - failure: What it means if none succeeds.
///   - succeeds: An attempt, which returns `false` if the machine may have left it too little time.
package func someAttempts(
  _ count: Int = 50, orElse failure: Comment, at location: SourceLocation = #_sourceLocation,
  _ succeeds: () async throws -> Bool
) async throws {
  for _ in 1...count {
    if try await succeeds() { return }
  }
  try #require(Bool(false), failure, sourceLocation: location)
}

/// Calls `body` with the path of a folder of the user's own, which does not exist yet, and whose name
/// is short.
package func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = URL(filePath: "/tmp/c\(UInt32.random(in: 0 ... .max))")
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}

/// Calls `body` with a folder for the bus `test`, which is to have one hub from beginning to end.
///
/// A hub that the system leaves no time for half a second loses its office. What fails from then on
/// does not count, and `body` is called again, with another folder.
package func withOneHub(
  at location: SourceLocation = #_sourceLocation, _ body: (URL) async throws -> Void
) async throws {
  try await someAttempts(orElse: "The first hub has never had time", at: location) {
    try await withFolder { folder in
      let isSpoiled = Locked(false)
      try await withKnownIssue(
        "The bus has got another hub.", isIntermittent: true, sourceLocation: location
      ) {
        try await body(folder)
      } matching: { _ in
        if !hasOtherHub(folder) { return false }
        isSpoiled.withLock { $0 = true }
        return true
      }
      return isSpoiled.withLock { !$0 }
    }
  }
}

/// Whether the bus `test` in a folder has had another hub after the first one.
package func hasOtherHub(_ folder: URL) -> Bool {
  let names = try? FileManager.default.contentsOfDirectory(
    atPath: folder.appending(path: "test").path)
  return names?.contains { $0.hasPrefix("hub.") && !$0.hasPrefix("hub.1.") } ?? false
}
