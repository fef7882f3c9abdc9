import Dispatch

/// How long one job may deliver before it yields the target.
struct Pace: Sendable {
  /// Nanoseconds of a monotonic clock; `nil` if only deliveries are counted.
  var clock: (@Sendable () -> UInt64)?

  /// For targets that other code may wait for: a limited number of deliveries.
  static let counted = Pace(clock: nil)
  /// For the main queue, where a person waits: a limited number of deliveries, and a few
  /// milliseconds at most.
  static let timed = Pace { DispatchTime.now().uptimeNanoseconds }
}

/// The rest of one job's turn.
struct DrainTurn {
  /// How many deliveries a job makes at most.
  static let deliveryLimit = 1_024
  /// How long a job delivers if time is limited, in nanoseconds.
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

  /// How many deliveries may be made before the next call of `note`.
  ///
  /// It is 1 if time is limited, because an observer may take long.
  var portion: Int { clock == nil ? left : min(left, 1) }

  mutating func note(_ count: Int) {
    left -= count
    if let clock, clock() &- start >= Self.timeLimit { left = 0 }
  }
}
