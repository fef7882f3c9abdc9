/// The two words of a string: its characters if there is room for them, or else where they are.
///
/// Of two strings that exist at the same time, equal words say that they are equal. Words that differ
/// say nothing.
struct StringIdentity: Equatable, Sendable {
  private let words: SIMD2<UInt64>

  /// - Returns: `nil` where a string is not two words of 64 bits.
  init?(_ string: String) {
    guard MemoryLayout<String>.size == MemoryLayout<SIMD2<UInt64>>.size else { return nil }
    // SAFETY: the size was compared, every bit of a string is set, and the words are only compared.
    words = unsafe unsafeBitCast(string, to: SIMD2<UInt64>.self)
  }

  /// A number that other words rarely have; greater than 1.
  var word: UInt {
    UInt(
      truncatingIfNeeded: (words.x &* 0x9E37_79B9_7F4A_7C15) ^ (words.y &* 0xC2B2_AE3D_27D4_EB4F))
      | 2
  }
}
