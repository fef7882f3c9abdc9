/// What was measured of one case.
struct CaseResult {
  let name: String
  let nanoseconds: Double
  /// Per operation; `nil` where they cannot be counted.
  let allocations: Double?
  /// Per thing built, in the cases about memory.
  var bytes: Double?
  let rivals: [Rival]
  var notes: [String] = []

  struct Rival {
    let name: String
    let nanoseconds: Double
    let allocations: Double?
    var bytes: Double?
    /// The rival's time over ours.
    let ratio: Double
    /// The middle half of the ratios of the single rounds.
    let spread: ClosedRange<Double>
  }
}
