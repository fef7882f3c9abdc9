// What users are given for their tests, for every file that imports this module, under the names that
// the tests here have for it, and with what only they may ask.
@_exported public import CampanileTesting

import Campanile

/// A recorder that tasks wait for.
package typealias Inbox = Recorder

/// A manual delivery whose jobs are looked at.
package typealias ManualTarget = ManualDelivery

extension Recorder {
  /// Waits until there are `count` values, however long it takes, and returns all there are.
  package func values(count: Int) async -> [Value] {
    await waitRegardless(for: count)
    return values
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
