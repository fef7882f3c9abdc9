import Testing

@testable import player

@Suite("RawOutput")
struct RawOutputTests {
  @Test("16-bit samples are written as they were read")
  func exact() {
    let numbers: [Int16] = [0, 1, -1, 255, 256, -256, .min, .max]
    let samples = numbers.map { Float($0) / 32768 }
    #expect(RawOutput.bytes(of: samples) == numbers.flatMap(WaveFile.bytes))
  }

  @Test("Samples at the end of the range are not wrapped")
  func limits() {
    #expect(RawOutput.bytes(of: [1, -1]) == [0xFF, 0x7F, 0x00, 0x80])
  }
}
