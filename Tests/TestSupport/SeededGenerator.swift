/// Random numbers that a seed repeats.
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    // Steps and mixes of SplitMix64, by Steele, Lea and Flood.
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `count` times.
  package mutating func once(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  /// True `percent` times of a hundred.
  package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  package mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}
