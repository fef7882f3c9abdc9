/// Reads the audio of a RIFF/WAVE file as a stream, through one small buffer.
///
/// ```swift
/// var reader = try WaveReader(path: "bells.wav")
/// var samples: [Float] = []
/// while try reader.read(441, into: &samples) > 0 {
///   print(samples.max() ?? 0)
/// }
/// ```
///
/// The initializer throws an error if the header is invalid.
///
/// A reader is a value: a copy continues independently from the same position.
struct WaveReader: Sendable {
  let format: WaveFormat
  /// The length of the audio, in frames.
  let frameCount: Int
  /// The frames read so far.
  private(set) var position = 0

  private let file: InputFile
  private let audioStart: Int
  private var buffer = [UInt8](repeating: 0, count: 16384)

  /// The length of the audio, in seconds.
  var duration: Double { Double(frameCount) / Double(format.sampleRate) }

  /// Opens the file at `path` and reads its header.
  init(path: String) throws(WaveError) {
    file = try InputFile(path: path)
    let layout = try WaveLayout(of: file)
    format = layout.format
    audioStart = layout.audio.lowerBound
    // An incomplete last frame cannot be played.
    frameCount = layout.audio.count / layout.format.frameByteCount
    guard frameCount > 0 else { throw WaveError(.noAudio, path, "holds no audio") }
  }

  /// Replaces `samples` with the next frames, at most `limit`.
  ///
  /// Returns their number, which is zero at the end.
  ///
  /// Samples are in the range from -1 to 1. The channels of a frame are adjacent. A call may read
  /// fewer frames than the limit before the end, because the buffer is small.
  mutating func read(_ limit: Int, into samples: inout [Float]) throws(WaveError) -> Int {
    let frameByteCount = format.frameByteCount
    let frames = min(limit, buffer.count / frameByteCount, frameCount - position)
    try file.read(
      frames * frameByteCount, at: audioStart + position * frameByteCount, into: &buffer)
    position += frames
    format.encoding.decode(buffer, count: frames * format.channelCount, into: &samples)
    return frames
  }
}
