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
/// Whatever is wrong with the file's header is thrown by the initializer. A reader is a value: a
/// copy reads on from the same place by itself.
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
    // A last frame that is cut short is nothing that could be played.
    frameCount = layout.audio.count / layout.format.frameByteCount
    guard frameCount > 0 else { throw WaveError(.noAudio, path, "holds no audio") }
  }

  /// Replaces `samples` by at most `limit` further frames and returns how many, at the end zero.
  ///
  /// Samples lie between -1 and 1, the channels of one frame beside each other. A call may read
  /// less than the limit before the end as well, namely what fits the buffer.
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
