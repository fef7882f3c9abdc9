/// The two words of a string: its characters if there is room for them, or else where they are.
///
/// Of two strings that exist at the same time, equal words say that they are equal. Words that differ
/// say nothing.
struct StringIdentity: Equatable, Sendable {
  // Not a vector, whose words would have to be taken out of it.
  private let first: UInt64
  private let second: UInt64

  /// - Returns: `nil` where a string is not two words of 64 bits.
  init?(_ string: String) {
    guard MemoryLayout<String>.size == MemoryLayout<Self>.size else { return nil }
    // SAFETY: the size was compared, every bit of a string is set, and the words are only compared.
    self = unsafe unsafeBitCast(string, to: Self.self)
  }

  /// A word that other strings rarely have; greater than 1.
  var word: UInt {
    UInt(truncatingIfNeeded: first ^ (second &* 0xC2B2_AE3D_27D4_EB4F) | 1 &<< 63)
  }
}
