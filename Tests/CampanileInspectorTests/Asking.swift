import TestSupport
import Testing

/// Asks again and again until there is an answer.
///
/// A test whose answer does not come within `patience` has failed.
func answer<Answer>(
  at location: SourceLocation = #_sourceLocation, _ ask: () async throws -> Answer?
) async throws -> Answer {
  let end = ContinuousClock.now + patience
  repeat {
    if let answer = try await ask() { return answer }
    await Task.yield()
  } while ContinuousClock.now < end
  return try #require(nil, "There was no answer within \(patience)", sourceLocation: location)
}
