import Foundation

@testable import Campanile

extension Registration {
  /// Returns when somebody waits for posts in progress, in `cancelAndWait`, or when `isOver`, since a
  /// wait that does not wait has returned.
  func waitUntilWaitedFor(or isOver: () -> Bool) {
    let limit = ContinuousClock.now + patience
    while !isOver(), ContinuousClock.now < limit,
      list.registry.withState({ !$0.limbo.contains { $0.objects.contains { $0 is Waiter } } })
    {
      sched_yield()
    }
  }
}
