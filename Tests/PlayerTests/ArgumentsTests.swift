import Testing

@testable import player

@Suite("Arguments")
struct ArgumentsTests {
  @Test("Samples are written only on request, beside other options")
  func raw() throws {
    #expect(try !Arguments(["bells.wav"]).wantsSamples)
    let arguments = try Arguments(["--raw", "--speed", "2", "bells.wav"])
    #expect(arguments.wantsSamples && arguments.speed == 2 && arguments.path == "bells.wav")
  }

  @Test(
    "A mistake is described in a sentence",
    arguments: [["--speed", "0"], ["--speed"], ["--rew"], ["a.wav", "b.wav"], ["--relay="]])
  func mistakes(arguments: [String]) {
    let error = #expect(throws: Arguments.Mistake.self) { try Arguments(arguments) }
    #expect(error?.description.hasSuffix(".") == true)
  }
}
