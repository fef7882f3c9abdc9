/// The format of the audio in a WAVE file.
struct WaveFormat: Hashable, Sendable, CustomStringConvertible {
  /// The encoding of one sample, in little-endian order.
  enum Encoding: String, Sendable {
    case unsigned8 = "8-bit"
    case signed16 = "16-bit"
    case signed24 = "24-bit"
    case signed32 = "32-bit"
    case float32 = "32-bit float"
    case float64 = "64-bit float"

    var byteCount: Int {
      switch self {
      case .unsigned8: 1
      case .signed16: 2
      case .signed24: 3
      case .signed32, .float32: 4
      case .float64: 8
      }
    }
  }

  let encoding: Encoding
  let channelCount: Int
  /// The number of frames a second.
  let sampleRate: Int

  /// The number of bytes of one frame, which is one sample for each channel.
  var frameByteCount: Int { encoding.byteCount * channelCount }

  var description: String {
    "\(sampleRate) Hz, \(channelCount == 1 ? "mono" : "stereo"), \(encoding.rawValue)"
  }
}

extension WaveFormat {
  /// Parses the first 16 bytes of a `fmt ` chunk, or 40 of an extensible one.
  init(chunk: [UInt8], of path: String) throws(WaveError) {
    guard chunk.count >= 16 else {
      throw WaveError(.malformed, path, "has a format chunk of only \(chunk.count) bytes")
    }
    var tag = chunk.littleEndian(2, at: 0)
    if tag == Tag.extensible {
      guard chunk.count >= 40, chunk.littleEndian(2, at: 16) >= 22 else {
        throw WaveError(.malformed, path, "has an extensible format chunk that is too short")
      }
      guard Array(chunk[26..<40]) == Tag.subformatSuffix else {
        throw WaveError(.unsupported, path, "is written in an encoding of some vendor's own")
      }
      tag = chunk.littleEndian(2, at: 24)
    }
    let bits = chunk.littleEndian(2, at: 14)
    switch (tag, bits) {
    case (Tag.pcm, 8): encoding = .unsigned8
    case (Tag.pcm, 16): encoding = .signed16
    case (Tag.pcm, 24): encoding = .signed24
    case (Tag.pcm, 32): encoding = .signed32
    case (Tag.float, 32): encoding = .float32
    case (Tag.float, 64): encoding = .float64
    case (Tag.pcm, _), (Tag.float, _):
      let kind = tag == Tag.pcm ? "integers" : "floating point"
      throw WaveError(.unsupported, path, "has samples of \(bits)-bit \(kind), which is unknown")
    default:
      let name = Tag.names[tag] ?? "format \(tag)"
      throw WaveError(.unsupported, path, "is encoded as \(name), not as PCM or floating point")
    }
    channelCount = chunk.littleEndian(2, at: 2)
    guard 1...2 ~= channelCount else {
      throw WaveError(.unsupported, path, "has \(channelCount) channels, not one or two")
    }
    sampleRate = chunk.littleEndian(4, at: 4)
    guard sampleRate > 0 else {
      throw WaveError(.malformed, path, "has a sample rate of zero")
    }
    let alignment = chunk.littleEndian(2, at: 12)
    guard alignment == frameByteCount else {
      throw WaveError(
        .malformed, path,
        "promises frames of \(alignment) bytes, but \(self) takes \(frameByteCount)")
    }
  }

  /// The numbers that identify encodings.
  enum Tag {
    static let pcm = 1
    static let float = 3
    static let extensible = 0xFFFE
    /// The bytes after the tag in the sixteen-byte identifier of an extensible file's encoding.
    static let subformatSuffix: [UInt8] = [
      0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71,
    ]
    /// The most common unsupported encodings.
    static let names = [
      2: "Microsoft ADPCM", 6: "A-law", 7: "mu-law", 17: "IMA ADPCM", 49: "GSM 6.10", 85: "MP3",
    ]
  }
}

extension [UInt8] {
  /// The integer in the `count` bytes at `position`, in little-endian order.
  func littleEndian(_ count: Int, at position: Int) -> Int {
    var number = 0
    var index = position + count
    while index > position {
      index -= 1
      number = number << 8 | Int(self[index])
    }
    return number
  }
}

extension FixedWidthInteger {
  /// The bytes of the integer, in little-endian order.
  var littleEndianBytes: [UInt8] {
    (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
  }
}
