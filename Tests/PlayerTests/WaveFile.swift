import Foundation

@testable import player

/// A WAVE file put together byte by byte, in the temporary directory while the test runs.
final class WaveFile: Sendable {
  let path: String

  init(_ bytes: [UInt8]) throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("wave-\(UUID().uuidString).wav").path
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// A file of these chunks behind a RIFF header.
  convenience init(chunks: [UInt8]...) throws {
    let content = Array("WAVE".utf8) + chunks.flatMap { $0 }
    try self.init(Self.chunk("RIFF", content))
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func reader() throws -> WaveReader {
    // The path alone does not keep the file.
    try withExtendedLifetime(self) { try WaveReader(path: path) }
  }

  /// Cuts the file, or makes it longer by a hole that takes no room on the disk.
  func resize(to size: UInt64) throws {
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.truncate(atOffset: size)
    try handle.close()
  }

  /// A chunk of this name, filled up to an even length.
  static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
    Array(name.utf8) + bytes(UInt32(body.count)) + body + (body.count % 2 == 0 ? [] : [0])
  }

  /// The format chunk that older files have.
  static func format(
    tag: UInt16 = 1, channels: UInt16 = 1, rate: UInt32 = 8000, bits: UInt16 = 16,
    alignment: UInt16? = nil
  ) -> [UInt8] {
    chunk("fmt ", formatBody(tag, channels, rate, bits, alignment))
  }

  /// The format chunk that newer files have, with the encoding named by sixteen bytes.
  static func extensibleFormat(
    tag: UInt16, bits: UInt16, suffix: [UInt8] = WaveFormat.Tag.subformatSuffix
  ) -> [UInt8] {
    let body = formatBody(0xFFFE, 1, 8000, bits, nil)
    return chunk(
      "fmt ", body + bytes(UInt16(22)) + bytes(bits) + bytes(UInt32(4)) + bytes(tag) + suffix)
  }

  private static func formatBody(
    _ tag: UInt16, _ channels: UInt16, _ rate: UInt32, _ bits: UInt16, _ alignment: UInt16?
  ) -> [UInt8] {
    let frame = alignment ?? channels * ((bits + 7) / 8)
    return bytes(tag) + bytes(channels) + bytes(rate) + bytes(rate * UInt32(frame)) + bytes(frame)
      + bytes(bits)
  }

  /// The bytes of `number`, least significant first.
  static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}
