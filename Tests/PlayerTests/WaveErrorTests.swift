import Foundation
import Testing

@testable import player

@Suite("WaveError")
struct WaveErrorTests {
  private let data = WaveFile.chunk("data", [0, 0, 0, 0])

  /// Expects that the file cannot be opened for this reason.
  private func expect(
    _ code: WaveError.Code, _ words: String, _ file: WaveFile,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    withExtendedLifetime(file) {
      expect(code, words, path: file.path, sourceLocation: sourceLocation)
    }
  }

  private func expect(
    _ code: WaveError.Code, _ words: String, path: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: WaveError.self, sourceLocation: sourceLocation) {
      try WaveReader(path: path)
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    let sentence = error?.description ?? ""
    #expect(sentence.hasPrefix(path), sourceLocation: sourceLocation)
    #expect(sentence.contains(words), sourceLocation: sourceLocation)
    #expect(sentence.hasSuffix("."), sourceLocation: sourceLocation)
    #expect(!sentence.contains("\n"), sourceLocation: sourceLocation)
  }

  @Test("A file that is missing, or no file at all, is unreadable")
  func unreadable() {
    expect(.unreadable, "No such file", path: "/nowhere/at/all.wav")
    expect(.unreadable, "not an ordinary file", path: FileManager.default.temporaryDirectory.path)
    expect(.unreadable, "not an ordinary file", path: "/dev/null")
  }

  @Test("A file without a byte is empty")
  func empty() throws {
    expect(.empty, "is empty", try WaveFile([]))
  }

  @Test("Another kind of file is not a WAVE file")
  func notWave() throws {
    expect(.notWave, "not a RIFF/WAVE file", try WaveFile([1]))
    expect(.notWave, "not a RIFF/WAVE file", try WaveFile(Array("A letter to a friend.".utf8)))
    expect(.notWave, "not a RIFF/WAVE file", try WaveFile(Array("RIFF....AVI LIST".utf8)))
    expect(.notWave, "not a RIFF/WAVE file", try WaveFile(Array("RIFX....WAVEfmt ".utf8)))
  }

  @Test("An RF64 file is named as what it is")
  func rf64() throws {
    let words = "is an RF64 file, which the player does not read"
    expect(.unsupported, words, try WaveFile(Array("RF64".utf8) + [255, 255, 255, 255]))
    expect(
      .unsupported, words,
      try WaveFile(Array("RF64\u{7F}\u{7F}\u{7F}\u{7F}WAVEds64".utf8)))
  }

  @Test("A file that ends anywhere before its audio does is truncated")
  func truncated() throws {
    let whole = WaveFile.chunk("RIFF", Array("WAVE".utf8) + WaveFile.format() + data)
    for count in 4..<whole.count {
      expect(.truncated, "is truncated", try WaveFile(Array(whole.prefix(count))))
    }
  }

  @Test("The chunk that promises too much is named, with what it promises")
  func overlongChunks() throws {
    let promise = Array("data".utf8) + WaveFile.bytes(UInt32.max) + [0, 0]
    expect(
      .truncated, "'data' promises 4294967295 bytes and 2 are there",
      try WaveFile(chunks: WaveFile.format(), promise))
    let list = Array("LIST".utf8) + WaveFile.bytes(UInt32(10))
    expect(
      .truncated, "'LIST' promises 10 bytes and 0 are there",
      try WaveFile(chunks: WaveFile.format(), list))
  }

  @Test("A file that ends while it is read is truncated")
  func shrinking() throws {
    let file = try WaveFile(chunks: WaveFile.format(), data)
    var reader = try file.reader()
    try file.resize(to: 46)
    var samples: [Float] = []
    let error = #expect(throws: WaveError.self) { try reader.read(2, into: &samples) }
    #expect(error?.code == .truncated)
  }

  @Test("A file that contradicts itself is malformed")
  func malformed() throws {
    expect(
      .malformed, "audio before the format", try WaveFile(chunks: data, WaveFile.format()))
    expect(.malformed, "has no format chunk", try WaveFile(chunks: []))
    expect(.malformed, "has no data chunk", try WaveFile(chunks: WaveFile.format()))
    expect(.malformed, "sample rate", try WaveFile(chunks: WaveFile.format(rate: 0), data))
    expect(
      .malformed, "frames of 3 bytes", try WaveFile(chunks: WaveFile.format(alignment: 3), data))
    expect(.malformed, "only 8 bytes", try WaveFile(chunks: WaveFile.chunk("fmt ", .init(1...8))))
    expect(
      .malformed, "too short",
      try WaveFile(chunks: WaveFile.format(tag: 0xFFFE), data))
    expect(
      .malformed, "something other than a chunk at byte 36",
      try WaveFile(chunks: WaveFile.format(), .init(repeating: 0, count: 8), data))
  }

  @Test("Audio of a kind the reader does not know is unsupported")
  func unsupported() throws {
    for (tag, name) in [(UInt16(7), "mu-law"), (85, "MP3"), (999, "format 999")] {
      expect(.unsupported, name, try WaveFile(chunks: WaveFile.format(tag: tag, bits: 8), data))
      let extensible = WaveFile.extensibleFormat(tag: tag, bits: 8)
      expect(.unsupported, name, try WaveFile(chunks: extensible, data))
    }
    let suffix = [UInt8](repeating: 7, count: 14)
    let foreign = WaveFile.extensibleFormat(tag: 1, bits: 16, suffix: suffix)
    expect(.unsupported, "some vendor's own", try WaveFile(chunks: foreign, data))
    expect(.unsupported, "12-bit", try WaveFile(chunks: WaveFile.format(bits: 12), data))
    expect(
      .unsupported, "16-bit floating point",
      try WaveFile(chunks: WaveFile.format(tag: 3, bits: 16), data))
    for count in [UInt16(0), 3, 6] {
      let format = WaveFile.format(channels: count)
      expect(.unsupported, "\(count) channels", try WaveFile(chunks: format, data))
    }
  }

  @Test("A file without a whole frame holds no audio")
  func noAudio() throws {
    let format = WaveFile.format(channels: 2)
    expect(.noAudio, "no audio", try WaveFile(chunks: format, WaveFile.chunk("data", [])))
    expect(.noAudio, "no audio", try WaveFile(chunks: format, WaveFile.chunk("data", [1, 2])))
  }

  @Test("Errors of one kind are equal, whatever they say")
  func equality() {
    #expect(WaveError(.empty, "a", "is empty") == WaveError(.empty, "b", "has nothing"))
    #expect(WaveError(.empty, "a", "is empty") != WaveError(.noAudio, "a", "is empty"))
  }
}
