/// The layout of a WAVE file: the format of its audio, and the position of the audio.
///
/// A WAVE file is a RIFF header of twelve bytes, followed by chunks. A chunk is a name of four
/// characters, the length of its content in four bytes, and the content, padded to an even length.
struct WaveLayout {
  let format: WaveFormat
  let audio: Range<Int>

  /// Walks the chunks of `file` up to the audio.
  ///
  /// Other chunks are skipped without reading them.
  init(of file: InputFile) throws(WaveError) {
    let promisedSize = try Self.readHeader(of: file)
    var header = [UInt8](repeating: 0, count: 40)
    var format: WaveFormat?
    var position = 12
    while position < file.size {
      guard file.size - position >= 8 else {
        throw WaveError(.truncated, file.path, "is truncated: it ends inside a chunk's header")
      }
      try file.read(8, at: position, into: &header)
      let length = header.littleEndian(4, at: 4)
      let name = header[0..<4]
      guard name.allSatisfy({ 0x20...0x7E ~= $0 }) else {
        throw WaveError(
          .malformed, file.path, "has something other than a chunk at byte \(position)")
      }
      position += 8
      let rest = file.size - position
      switch String(decoding: name, as: UTF8.self) {
      case let name where length > rest:
        throw WaveError(
          .truncated, file.path,
          "is truncated: chunk '\(name)' promises \(length) bytes and \(rest) are there")
      case "data":
        guard let format else {
          throw WaveError(.malformed, file.path, "has its audio before the format of it")
        }
        self.format = format
        self.audio = position..<position + length
        return
      case "fmt ":
        try file.read(min(length, 40), at: position, into: &header)
        format = try WaveFormat(chunk: Array(header.prefix(length)), of: file.path)
      default:
        break
      }
      position += length + length % 2
    }
    guard promisedSize <= file.size else {
      throw WaveError(.truncated, file.path, "is truncated: it ends before its audio")
    }
    throw WaveError(.malformed, file.path, "has no \(format == nil ? "format" : "data") chunk")
  }

  /// Returns the size of the file according to the RIFF header.
  private static func readHeader(of file: InputFile) throws(WaveError) -> Int {
    guard file.size > 0 else { throw WaveError(.empty, file.path, "is empty") }
    var header = [UInt8](repeating: 0, count: 12)
    try file.read(min(12, file.size), at: 0, into: &header)
    if header.prefix(4).elementsEqual("RF64".utf8) {
      throw WaveError(
        .unsupported, file.path, "is an RF64 file, which the player does not read")
    }
    let isRIFF = header.prefix(4).elementsEqual("RIFF".utf8)
    guard !isRIFF || file.size >= 12 else {
      throw WaveError(.truncated, file.path, "is truncated: it ends inside the RIFF header")
    }
    guard isRIFF, header.suffix(4).elementsEqual("WAVE".utf8) else {
      throw WaveError(.notWave, file.path, "is not a RIFF/WAVE file")
    }
    return 8 + header.littleEndian(4, at: 4)
  }
}
