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

/// Random numbers that a seed repeats.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    // Steps and mixes of SplitMix64, by Steele, Lea and Flood.
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `count` times.
  mutating func once(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}
