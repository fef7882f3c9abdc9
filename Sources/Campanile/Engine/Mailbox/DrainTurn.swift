/// The rest of one job's turn, after which it yields the target.
struct DrainTurn {
  /// How many deliveries a job makes at most.
  static let deliveryLimit = 1_024
  /// How long a job delivers if time is limited, in nanoseconds.
  static let timeLimit: UInt64 = 4_000_000

  /// Returns nanoseconds of a monotonic clock.
  typealias Clock = @Sendable () -> UInt64

  private let clock: Clock?
  private let start: UInt64
  private var left: Int

  /// - Parameter clock: For the main queue, where a person waits; `nil` if only deliveries are counted.
  init(atMost limit: Int, _ clock: Clock?) {
    self.clock = clock
    start = clock?() ?? 0
    left = limit
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
