import Dispatch

/// How long one job may deliver before others have the target.
struct Pace: Sendable {
  /// Nanoseconds of a clock that never goes back; `nil` where only deliveries are counted.
  var clock: (@Sendable () -> UInt64)?

  /// For targets that somebody may wait for: so many deliveries.
  static let counted = Pace(clock: nil)
  /// For the main queue, where a person waits: so many deliveries, and no more than a few
  /// milliseconds.
  static let timed = Pace { DispatchTime.now().uptimeNanoseconds }
}

/// What is left of one job's turn.
struct DrainTurn {
  /// How many deliveries a job makes at most.
  static let deliveryLimit = 1_024
  /// How long a job goes on delivering where time counts, in nanoseconds.
  static let timeLimit: UInt64 = 4_000_000
  private let clock: (@Sendable () -> UInt64)?
  private let start: UInt64
  private var left: Int

  /// - Parameter pace: `nil` for a turn that ends when nothing is left.
  init(_ pace: Pace?) {
    clock = pace?.clock
    start = pace?.clock?() ?? 0
    left = pace == nil ? .max : Self.deliveryLimit
  }

  var isOver: Bool { left == 0 }

  /// How many deliveries may be made before `note` is told of them.
  ///
  /// One where time counts: an observer may take long.
  var portion: Int { clock == nil ? left : min(left, 1) }

  mutating func note(_ count: Int) {
    left -= count
    if let clock, clock() &- start >= Self.timeLimit { left = 0 }
  }
}
