import FuzzSupport

#if canImport(Glibc)
  import Glibc
#endif

/// An input as a file: as it is, or as the chunks of a file whose beginning is right.
struct WaveRun {
  private var choices: Choices

  init(_ choices: Choices) { self.choices = choices }

  mutating func run() {
    switch choices.pick(4) {
    case 0: readAll(choices.bytes)
    case 1: readAll(Self.riff(choices.bytes))
    case 2: readChunks()
    default: readWellFormed()
    }
  }

  /// Chunks that a file has, in any order, of any length, that say any length, with any format.
  private mutating func readChunks() {
    var chunks: [UInt8] = []
    for _ in 0..<choices.pick(6) {
      let name = ["fmt ", "data", "LIST", "fact"][choices.pick(4)]
      var body = name == "fmt " ? format() : (0..<choices.pick(256)).map { UInt8($0) }
      if choices.pick(8) == 1 { body.removeLast(min(body.count, choices.pick(32))) }
      var chunk = Self.chunk(name, body)
      if choices.pick(8) == 1 { chunk[4 + choices.pick(4)] = UInt8(choices.pick(256)) }
      chunks += chunk
    }
    var file = Self.riff(chunks)
    if choices.pick(8) == 1 { file.removeLast(min(file.count, choices.pick(256))) }
    readAll(file)
  }

  private mutating func format() -> [UInt8] {
    let tag = [1, 3, 0xFFFE, 2][choices.pick(4)]
    let channels = choices.pick(4)
    let bits = [8, 16, 24, 32, 64, 12][choices.pick(6)]
    let alignment = choices.pick(8) == 1 ? choices.pick(256) : channels * bits / 8
    let body =
      Self.bytes(tag, 2) + Self.bytes(channels, 2) + Self.bytes(8_000 * choices.pick(3), 4)
      + Self.bytes(choices.pick(256), 4) + Self.bytes(alignment, 2) + Self.bytes(bits, 2)
    if tag != 0xFFFE { return body }
    return body + Self.bytes(22, 2) + Self.bytes(bits, 2) + Self.bytes(3, 4)
      + Self.bytes([1, 3, 7][choices.pick(3)], 2)
      + [0, 0, 0, 0, 16, 0, 128, 0, 0, 170, 0, 56, 155, 113]
  }

  /// A file that is right but for what the choices make wrong: its samples are known.
  private mutating func readWellFormed() {
    let channels = 1 + choices.pick(2)
    let is16 = choices.flip()
    let extra = choices.pick(4)
    let frames = 1 + choices.pick(200)
    let sampleBytes = is16 ? 2 : 1
    let body = (0..<frames * channels * sampleBytes).map { _ in UInt8(choices.pick(256)) }
    var chunks = Self.chunk(
      "fmt ",
      Self.bytes(1, 2) + Self.bytes(channels, 2) + Self.bytes(8_000, 4)
        + Self.bytes(8_000 * channels * sampleBytes, 4) + Self.bytes(channels * sampleBytes, 2)
        + Self.bytes(sampleBytes * 8, 2))
    for _ in 0..<extra { chunks += Self.chunk("LIST", Array(repeating: 7, count: choices.pick(9))) }
    chunks += Self.chunk("data", body)
    guard let samples = readAll(Self.riff(chunks)) else {
      return require(false, "A file that is right was refused")
    }
    let expected = (0..<frames * channels).map { index -> Float in
      if !is16 { return (Float(body[index]) - 128) / 128 }
      let word = UInt16(body[2 * index]) | UInt16(body[2 * index + 1]) << 8
      return Float(Int16(bitPattern: word)) / 32_768
    }
    require(samples.count == expected.count, "\(samples.count) samples of \(expected.count)")
    for (sample, other) in zip(samples, expected) {
      require(abs(sample - other) < 0.01, "A sample of \(other) was read as \(sample)")
    }
  }

  /// A file of memory, written anew for each input.
  private static let file: Int32 = {
    let name = "/wave-\(getpid())"
    let file = unsafe shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
    require(file >= 0, "There is no room for a file")
    unsafe shm_unlink(name)
    return file
  }()

  /// Reads a file to its end, unless it is refused.
  @discardableResult
  private func readAll(_ bytes: [UInt8]) -> [Float]? {
    let file = Self.file
    let hasItsSize = ftruncate(file, off_t(bytes.count)) == 0
    let written = unsafe bytes.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress, $0.count, 0) }
    require(hasItsSize && written == bytes.count, "The file was not written")
    guard var reader = try? WaveReader(path: "/proc/self/fd/\(file)") else { return nil }
    require(reader.frameCount > 0 && reader.format.channelCount > 0, "An empty file was accepted")
    require(reader.frameCount <= bytes.count, "There are more frames than bytes")
    return read(&reader)
  }

  private func read(_ reader: inout WaveReader) -> [Float] {
    var all: [Float] = []
    var samples: [Float] = []
    var frames = 0
    while true {
      let count: Int
      do { count = try reader.read(333, into: &samples) } catch {
        // The header was accepted: nothing of an unchanged file is missing.
        require(false, "\(error)")
        return all
      }
      require(samples.count == count * reader.format.channelCount, "Samples are missing")
      require(samples.allSatisfy { abs($0) <= 1 }, "A sample is out of range")
      all += samples
      frames += count
      require(reader.position == frames, "The position is \(reader.position) after \(frames)")
      if count == 0 { break }
    }
    require(frames == reader.frameCount, "\(frames) frames of \(reader.frameCount) were read")
    return all
  }

  private static func riff(_ content: [UInt8]) -> [UInt8] {
    chunk("RIFF", Array("WAVE".utf8) + content)
  }

  private static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
    Array(name.utf8) + bytes(body.count, 4) + body + (body.count % 2 == 0 ? [] : [0])
  }

  private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWave(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  var run = WaveRun(unsafe Choices(start, count))
  run.run()
  return 0
}
