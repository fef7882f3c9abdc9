import Testing

@testable import player

@Suite("Report")
struct ReportTests {
  @Test("Each row has a count, where it was counted, and what is counted, below the heads")
  func rows() {
    let position = Tally("position", counts: "blocks of samples")
    let screen = Tally("a screen", counts: "positions")
    position.note()
    for _ in 0..<12 { screen.note() }
    let lines = Report(posted: [position], observers: [screen]).lines
    #expect(
      lines == [
        "",
        "posted or set        times  what is counted",
        "position                 1  blocks of samples",
        "",
        "observer             calls  ran on            what is counted",
        "a screen                12  another thread    positions",
        "",
      ])
  }
}
