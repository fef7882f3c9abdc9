import Testing

@testable import Campanile

@Suite("Where registrations are made", .ownThread)
struct CallSiteTests {
  @Test("A place tells its file and its line, and is no other place")
  func places() {
    let places = [
      CallSite(file: "A/First.swift", line: 1), CallSite(file: "B/Second.swift", line: 1),
      CallSite(file: "A/First.swift", line: 2),
    ]
    #expect(places.map(\.fileName) == ["A/First.swift", "B/Second.swift", "A/First.swift"])
    #expect(places.map(\.line) == [1, 1, 2])
    #expect(Set(places).count == 3)
    let again = (0..<3).map { _ in CallSite(file: #fileID, line: 7) }
    #expect(Set(again).count == 1)
  }

  @Test("A line that a caller made up is a line", arguments: [0, 7, UInt(Int.max), .max])
  func lines(line: UInt) {
    let location = CallSite(file: "A/File.swift", line: line)
    #expect(location.fileName == "A/File.swift")
    #expect(location.line == Int(UInt32(clamping: line)))
  }
}
