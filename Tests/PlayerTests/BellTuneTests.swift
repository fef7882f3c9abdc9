import Foundation
import Testing

@testable import player

@Suite("BellTune")
struct BellTuneTests {
  /// The tune as samples.
  private func samples() throws -> [Float] {
    let path = try BellTune.write()
    defer { try? FileManager.default.removeItem(atPath: path) }
    var reader = try WaveReader(path: path)
    #expect(reader.duration == 15)
    #expect(reader.format.description == "22050 Hz, mono, 16-bit")
    var all: [Float] = []
    var some: [Float] = []
    while try reader.read(1000, into: &some) > 0 { all += some }
    return all
  }

  @Test("Plays for fifteen seconds, never too loud, and fades at the end")
  func loudness() throws {
    let samples = try samples()
    #expect(samples.count == 330_750)
    #expect(abs((samples.max() ?? 0) - 0.9) < 0.1)
    #expect(samples.allSatisfy { abs($0) <= 0.9 })
    // The last quarter of a second is at most a tenth as loud as the beginning of the last stroke.
    #expect(samples.suffix(5_512).allSatisfy { abs($0) < 0.07 })
    // A bell sounds in each second before the last three.
    for second in 0..<12 {
      let part = samples[(second * 22_050)..<((second + 1) * 22_050)]
      #expect(part.contains { abs($0) > 0.15 }, "Second \(second) is silent.")
    }
  }
}
