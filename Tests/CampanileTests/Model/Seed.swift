import Foundation

/// The seeds of the random tests.
///
/// A failure names its seed; `CAMPANILE_SEED=N swift test --filter Model` plays that one alone, and
/// `CAMPANILE_SEEDS=N` plays so many of them.
enum Seed {
  private static let environment = ProcessInfo.processInfo.environment

  /// Some seeds; other ones in each run, so that runs add up.
  static func some(_ count: Int) -> [UInt64] {
    if let seed = environment["CAMPANILE_SEED"].flatMap({ UInt64($0) }) { return [seed] }
    let count = environment["CAMPANILE_SEEDS"].flatMap { Int($0) } ?? count
    return (0..<count).map { _ in UInt64.random(in: 1...999_999_999) }
  }
}
