// What users are given for their tests, for every file that imports this module, under the names that
// the tests here have for it, and with what only they may ask.
@_exported public import CampanileTesting

import Campanile
package import Dispatch
package import Testing

/// A recorder that tasks wait for.
package typealias Inbox = Recorder

/// A manual delivery whose jobs are looked at.
package typealias ManualTarget = ManualDelivery

extension Recorder {
  /// Waits until there are `count` values, and returns all there are.
  package func values(
    count: Int, at location: SourceLocation = #_sourceLocation
  ) async -> [Value] {
    if await !waits(for: count, within: patience) {
      Issue.record("\(count) values did not come", sourceLocation: location)
    }
    return values
  }
}

/// How long a test waits for what must come.
///
/// Only what never comes takes so long, and the test that waits for it then says so.
package let patience = Duration.seconds(30)

extension DispatchSemaphore {
  /// Blocks the thread until another signals; a test goes on if none does, and has failed.
  package func waitPatiently(at location: SourceLocation = #_sourceLocation) {
    let limit = DispatchTime.now() + .seconds(Int(patience.components.seconds))
    if wait(timeout: limit) == .timedOut {
      Issue.record("What a thread waited for did not come", sourceLocation: location)
    }
  }
}

extension Gate {
  /// Blocks the thread until another has come to the gate; a test goes on if none does, and has failed.
  package func waitUntilReached(at location: SourceLocation = #_sourceLocation) {
    do {
      try waitUntilReached(within: patience)
    } catch {
      Issue.record(error, sourceLocation: location)
    }
  }
}

extension AsyncGate {
  /// Waits until tasks have come to the gate; a test goes on if they do not, and has failed.
  package func waitUntilReached(
    by count: Int = 1, at location: SourceLocation = #_sourceLocation
  ) async {
    do {
      try await reached(by: count, within: patience)
    } catch {
      Issue.record(error, sourceLocation: location)
    }
  }
}

extension ManualDelivery {
  /// Runs whole jobs, as a target of a user's does, with those that come meanwhile.
  package func runJobs() {
    run {
      while let job = takeJob() { job.run() }
    }
  }
}

/// Waits until `condition` holds, which nothing tells; a test goes on if it never does, and has
/// failed.
package func eventually(
  _ condition: () -> Bool, at location: SourceLocation = #_sourceLocation
) async {
  let limit = ContinuousClock.now + patience
  while !condition() {
    if ContinuousClock.now > limit {
      Issue.record("What was waited for never came true", sourceLocation: location)
      return
    }
    await Task.yield()
  }
}

/// Everything that a sequence has; a test whose sequence does not end goes on, and has failed.
package func all<Values: AsyncSequence & Sendable>(
  _ sequence: Values, at location: SourceLocation = #_sourceLocation
) async -> [Values.Element] where Values.Element: Sendable {
  let read = Recorder(reading: sequence)
  do {
    try await read.expectEnd(within: patience)
  } catch {
    Issue.record(error, sourceLocation: location)
  }
  return read.values
}
