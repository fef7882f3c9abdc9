/// The requests of a member that have not ended.
struct RequestTable {
  /// The ticks that are left for each.
  private var pending: [UInt64: UInt32] = [:]
  private var last: UInt64 = 0

  var isEmpty: Bool { pending.isEmpty }

  /// Begins a request that ends after some ticks of 100 ms at the latest.
  mutating func begin(milliseconds: UInt32) -> UInt64 {
    last += 1
    // One tick more, because the first one may follow at once.
    pending[last] = milliseconds / 100 + 2
    return last
  }

  /// Ends a request, and returns whether it had not ended before.
  mutating func end(_ correlation: UInt64) -> Bool {
    pending.removeValue(forKey: correlation) != nil
  }

  /// Fails the requests that were sent: all but some.
  mutating func disconnected(except waiting: Set<UInt64>, _ actions: inout [MemberAction]) {
    for correlation in pending.keys.sorted() where !waiting.contains(correlation) {
      pending[correlation] = nil
      actions.append(.requestFailed(correlation: correlation, .disconnected))
    }
  }

  /// Fails the requests whose time is over, and returns them.
  mutating func tick(_ actions: inout [MemberAction]) -> [UInt64] {
    var over: [UInt64] = []
    for correlation in pending.keys.sorted() {
      guard let ticks = pending[correlation] else { continue }
      if ticks > 1 {
        pending[correlation] = ticks - 1
      } else {
        pending[correlation] = nil
        over.append(correlation)
        actions.append(.requestFailed(correlation: correlation, .timedOut))
      }
    }
    return over
  }
}
