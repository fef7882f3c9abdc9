extension WaveFormat.Encoding {
  /// Replaces `samples` with the first `count` samples in `bytes`, scaled to the range from -1 to
  /// 1.
  ///
  /// A floating-point sample that isn't finite becomes silence. A sample outside the range is
  /// clipped.
  func decode(_ bytes: [UInt8], count: Int, into samples: inout [Float]) {
    samples.removeAll(keepingCapacity: true)
    switch self {
    case .unsigned8:
      for index in 0..<count { samples.append((Float(bytes[index]) - 128) / 128) }
    case .signed16, .signed24, .signed32:
      // Shifted to the top of 32 bits, an integer of any width has its sign bit in the right place.
      let unused = 32 - 8 * byteCount
      for index in 0..<count {
        let bits = bytes.littleEndian(byteCount, at: index * byteCount)
        samples.append(Float(Int32(truncatingIfNeeded: bits << unused)) / 0x1p31)
      }
    case .float32:
      for index in 0..<count {
        let sample = Float(bitPattern: UInt32(bytes.littleEndian(4, at: index * 4)))
        samples.append(Float(Self.clip(Double(sample))))
      }
    case .float64:
      for index in 0..<count {
        let bits = UInt64(truncatingIfNeeded: bytes.littleEndian(8, at: index * 8))
        samples.append(Float(Self.clip(Double(bitPattern: bits))))
      }
    }
  }

  private static func clip(_ sample: Double) -> Double {
    sample.isFinite ? min(max(sample, -1), 1) : 0
  }
}
