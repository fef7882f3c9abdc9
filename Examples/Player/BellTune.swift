import Foundation

/// A short tune on four bells, to play without a WAVE file.
///
/// The tones of a bell are not multiples of one frequency. They are the hum, the strike note, a
/// minor third, the fifth and the octave above it. Higher tones fade sooner.
enum BellTune {
  private static let sampleRate = 22_050
  private static let duration = 15.0

  /// The strike notes of the bells.
  private static let low = 392.0, first = 523.25, second = 587.33, third = 659.26
  /// What a clock chimes at the full hour: four phrases of four strokes.
  private static let phrases = [
    [first, third, second, low], [first, second, third, first],
    [third, first, second, low], [low, second, third, first],
  ]
  /// The times between two phrases, and between two strokes of a phrase, in seconds.
  private static let phraseInterval = 3.3, strokeInterval = 0.65
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
    for (phrase, pitches) in phrases.enumerated() {
      for (stroke, pitch) in pitches.enumerated() {
        let time = Double(phrase) * phraseInterval + Double(stroke) * strokeInterval
        strike(pitch, at: Int(time * Double(sampleRate)), in: &samples)
      }
    }
    let peak = samples.lazy.map(abs).max() ?? 1
    return samples.map { $0 * 0.9 / peak }
  }

  /// Adds one stroke of a bell, which sounds until it is too faint to be heard.
  private static func strike(_ pitch: Double, at start: Int, in samples: inout [Double]) {
    for (ratio, gain, decay) in tones {
      let step = 2 * Double.pi * pitch * ratio / Double(sampleRate)
      let fading = exp(-1 / (decay * Double(sampleRate)))
      var loudness = gain
      var index = start
      while index < samples.count, loudness > 0.002 {
        samples[index] += loudness * sin(step * Double(index - start))
        loudness *= fading
        index += 1
      }
    }
  }

  /// The bytes of a 16-bit mono WAVE file with these samples.
  private static func wave(of samples: [Double]) -> [UInt8] {
    let audio = chunk("data", samples.flatMap { Int16($0 * 32767).littleEndianBytes })
    let rate = UInt32(sampleRate)
    let format = chunk(
      "fmt ",
      UInt16(WaveFormat.Tag.pcm).littleEndianBytes + UInt16(1).littleEndianBytes
        + rate.littleEndianBytes + (rate * 2).littleEndianBytes
        + UInt16(2).littleEndianBytes + UInt16(16).littleEndianBytes)
    return chunk("RIFF", Array("WAVE".utf8) + format + audio)
  }

  private static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
    Array(name.utf8) + UInt32(body.count).littleEndianBytes + body
  }
}
