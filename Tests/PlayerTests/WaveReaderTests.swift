import Foundation
import Testing

@testable import player

@Suite("WaveReader")
struct WaveReaderTests {
  /// Everything in `file`, read `limit` frames at a time.
  private func samples(of file: WaveFile, limit: Int = 100) throws -> [Float] {
    try samples(of: file.reader(), limit: limit)
  }

  private func samples(of reader: WaveReader, limit: Int) throws -> [Float] {
    var reader = reader
    var all: [Float] = []
    var some: [Float] = []
    while try reader.read(limit, into: &some) > 0 { all += some }
    #expect(reader.position == reader.frameCount)
    return all
  }

  private func samples(tag: UInt16 = 1, bits: UInt16, _ audio: [[UInt8]]) throws -> [Float] {
    let data = WaveFile.chunk("data", audio.flatMap { $0 })
    let plain = try WaveFile(chunks: WaveFile.format(tag: tag, bits: bits), data)
    let extensible = try WaveFile(chunks: WaveFile.extensibleFormat(tag: tag, bits: bits), data)
    let result = try samples(of: plain)
    #expect(try samples(of: extensible) == result)
    return result
  }

  @Test("Reads unsigned 8-bit samples")
  func unsigned8() throws {
    #expect(try samples(bits: 8, [[0, 64, 128, 192, 255]]) == [-1, -0.5, 0, 0.5, 127 / 128])
  }

  @Test("Reads signed samples of 16, 24 and 32 bits", arguments: [16, 24, 32])
  func signed(bits: UInt16) throws {
    let limit: Int64 = 1 << (bits - 1)
    let numbers = [0, 1, -1, 256, limit >> 7, -limit, limit - 1].map { $0 as Int64 }
    let bytes = numbers.map { Array(WaveFile.bytes($0).prefix(Int(bits / 8))) }
    #expect(try samples(bits: bits, bytes) == numbers.map { Float($0) / Float(limit) })
  }

  @Test("Reads floating-point samples, and takes what is no number for silence")
  func floatingPoint() throws {
    let numbers: [Double] = [0, 0.25, -1, 1, .nan, -.infinity]
    let single = numbers.map { WaveFile.bytes(Float($0).bitPattern) }
    let double = numbers.map { WaveFile.bytes($0.bitPattern) }
    #expect(try samples(tag: 3, bits: 32, single) == [0, 0.25, -1, 1, 0, 0])
    #expect(try samples(tag: 3, bits: 64, double) == [0, 0.25, -1, 1, 0, 0])
  }

  @Test("Clips floating-point samples that are too loud")
  func loudFloatingPoint() throws {
    let numbers: [Double] = [1.5, -7, 3e38, -3e38, 1, -0.5]
    let single = numbers.map { WaveFile.bytes(Float($0).bitPattern) }
    #expect(try samples(tag: 3, bits: 32, single) == [1, -1, 1, -1, 1, -0.5])
    // Beyond what 32 bits can say.
    let double = (numbers + [1e300, -1e300]).map { WaveFile.bytes($0.bitPattern) }
    #expect(try samples(tag: 3, bits: 64, double) == [1, -1, 1, -1, 1, -0.5, 1, -1])
  }

  @Test("Keeps the channels of a stereo frame beside each other", arguments: [1, 2, 3, 1000])
  func stereo(limit: Int) throws {
    let numbers = (0..<5000).map { Int16(truncatingIfNeeded: $0 &* 31) }
    let file = try WaveFile(
      chunks: WaveFile.format(channels: 2),
      WaveFile.chunk("data", numbers.flatMap(WaveFile.bytes)))
    #expect(try samples(of: file, limit: limit) == numbers.map { Float($0) / 32768 })
    #expect(try file.reader().frameCount == 2500)
  }

  @Test("Reads no more at a time than its buffer holds")
  func boundedReads() throws {
    let file = try WaveFile(
      chunks: WaveFile.format(), WaveFile.chunk("data", [UInt8](repeating: 1, count: 100_000)))
    var reader = try file.reader()
    var samples: [Float] = []
    let frames = try reader.read(.max, into: &samples)
    #expect(0 < frames && frames < 50_000 && samples.count == frames)
    #expect(try self.samples(of: file, limit: .max).count == 50_000)
  }

  @Test("Describes the format and the length")
  func format() throws {
    let file = try WaveFile(
      chunks: WaveFile.format(channels: 2, rate: 48000, bits: 24),
      WaveFile.chunk("data", [UInt8](repeating: 0, count: 6 * 24000)))
    let reader = try file.reader()
    #expect(reader.format.description == "48000 Hz, stereo, 24-bit")
    #expect(reader.duration == 0.5)
  }

  @Test("Skips chunks it does not know, also of odd length")
  func unknownChunks() throws {
    let file = try WaveFile(
      chunks: WaveFile.chunk("JUNK", [1, 2, 3]), WaveFile.format(bits: 8),
      WaveFile.chunk("LIST", [1]), WaveFile.chunk("fact", []),
      WaveFile.chunk("data", [128, 192, 128]), WaveFile.chunk("tail", [9]))
    #expect(try samples(of: file) == [0, 0.5, 0])
  }

  @Test("Does without the padding after the last chunk")
  func missingPadding() throws {
    var bytes = WaveFile.chunk(
      "RIFF", Array("WAVE".utf8) + WaveFile.format(bits: 8) + WaveFile.chunk("data", [192]))
    bytes.removeLast()
    #expect(try samples(of: WaveFile(bytes)) == [0.5])
  }

  @Test("Leaves out a last frame that is cut short")
  func partialFrame() throws {
    let file = try WaveFile(
      chunks: WaveFile.format(channels: 2), WaveFile.chunk("data", [0, 64, 0, 64, 0, 64]))
    #expect(try samples(of: file) == [0.5, 0.5])
  }

  @Test("Reads a copy from the same place by itself")
  func copies() throws {
    let file = try WaveFile(
      chunks: WaveFile.format(bits: 8), WaveFile.chunk("data", [128, 192, 128, 64]))
    var reader = try file.reader()
    var samples: [Float] = []
    _ = try reader.read(1, into: &samples)
    var copy = reader
    _ = try copy.read(3, into: &samples)
    #expect(try reader.read(2, into: &samples) == 2)
    #expect(samples == [0.5, 0])
  }

  @Test("Opens a sparse file of nearly 4 GiB")
  func largeFile() throws {
    let length = UInt32.max - 63
    let header =
      Array("RIFF".utf8) + WaveFile.bytes(length + 36) + Array("WAVE".utf8)
      + WaveFile.format(bits: 32) + Array("data".utf8) + WaveFile.bytes(length)
    let file = try WaveFile(header)
    try file.resize(to: UInt64(header.count) + UInt64(length))
    #expect(try file.reader().frameCount == Int(length) / 4)
  }
}
