import Foundation

/// A short tune on four bells, to play without a WAVE file.
///
/// The tones of a bell are not multiples of one frequency. They are the hum, the strike note, a
/// minor third, the fifth and the octave above it. Higher tones fade sooner.
enum BellTune {
  private static let sampleRate = 22_050
  private static let duration = 3.5

  /// The quarter chime of a clock: when each bell is struck, in seconds, and its strike note.
  private static let strokes: [(time: Double, pitch: Double)] = [
    (0, 659.26), (0.55, 523.25), (1.1, 587.33), (1.65, 392.0),
  ]
  /// The tones of a bell: the pitch relative to the strike note, the loudness, and the decay time.
  private static let tones: [(ratio: Double, gain: Double, decay: Double)] = [
    (0.5, 0.7, 0.9), (1, 1, 0.6), (1.19, 0.6, 0.5), (1.5, 0.35, 0.35), (2, 0.5, 0.25),
    (2.74, 0.2, 0.15),
  ]

  /// Writes the tune to a new file in the temporary directory, and returns its path.
  static func write() throws(WaveError) -> String {
    let name = "campanile-bells-\(UUID().uuidString).wav"
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    do {
      try Data(wave(of: render())).write(to: url)
    } catch {
      throw WaveError(.unwritable, url.path, "cannot be written: \(error.localizedDescription)")
    }
    return url.path
  }

  /// The tune as samples, with a peak of 0.9.
  private static func render() -> [Double] {
    var samples = [Double](repeating: 0, count: Int(duration * Double(sampleRate)))
    for (time, pitch) in strokes {
      let start = Int(time * Double(sampleRate))
      for (ratio, gain, decay) in tones {
        let step = 2 * Double.pi * pitch * ratio / Double(sampleRate)
        let fading = exp(-1 / (decay * Double(sampleRate)))
        var loudness = gain
        for index in start..<samples.count {
          samples[index] += loudness * sin(step * Double(index - start))
          loudness *= fading
        }
      }
    }
    let peak = samples.lazy.map(abs).max() ?? 1
    return samples.map { $0 * 0.9 / peak }
  }

  /// The bytes of a 16-bit mono WAVE file with these samples.
  private static func wave(of samples: [Double]) -> [UInt8] {
    let audio = chunk("data", samples.flatMap { bytes(Int16($0 * 32767)) })
    let rate = UInt32(sampleRate)
    let format = chunk(
      "fmt ",
      bytes(UInt16(WaveFormat.Tag.pcm)) + bytes(UInt16(1)) + bytes(rate) + bytes(rate * 2)
        + bytes(UInt16(2)) + bytes(UInt16(16)))
    return chunk("RIFF", Array("WAVE".utf8) + format + audio)
  }

  private static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
    Array(name.utf8) + bytes(UInt32(body.count)) + body
  }

  /// The bytes of `number` in little-endian order.
  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}
