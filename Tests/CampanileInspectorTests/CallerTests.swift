#if canImport(Glibc)
  import Foundation
  import TestSupport
  import Testing

  @testable import CampanileInspector

  /// The call stacks of a small program: the names in one as large as that of the tests take long to
  /// look up.
  @Suite("Who posts")
  struct CallerTests {
    private static func source() throws -> [Substring] {
      let path = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Traced/main.swift")
      return try String(contentsOf: path, encoding: .utf8)
        .split(separator: "\n", omittingEmptySubsequences: false)
    }

    private func line(_ mark: String) throws -> Int {
      let lines = try Self.source()
      return try #require(lines.firstIndex { $0.contains("planted: \(mark)") }) + 1
    }

    @Test(
      "A function in the program's extension of a type of the package or Foundation is a caller")
    func extensions() throws {
      let (lines, _) = try Self.run.get()
      for (mark, function) in [
        ("the curtain", "MessageCenter.raiseCurtain"), ("the bell", "Broadcaster<>.ring"),
        ("an extension's notification", "NotificationCenter.turnDown"),
      ] {
        let place = "1 main.swift:\(try line(mark)) \(function)"
        #expect(lines.contains { $0.hasPrefix(place) }, "\(place) in \(lines)")
      }
    }

    /// What the program prints and writes.
    ///
    /// One run takes seconds.
    private static let run = Result { () throws -> (lines: [Substring], file: String) in
      let path = FileManager.default.temporaryDirectory
        .appending(path: "campanile-\(UInt64.random(in: 0 ... .max)).json")
      defer { try? FileManager.default.removeItem(at: path) }
      let process = Process()
      let end = ProgramEnd(of: process)
      process.executableURL = URL(filePath: CommandLine.arguments[0])
        .deletingLastPathComponent().appending(path: "traced")
      process.arguments = [path.path]
      let pipe = try startingAlone {
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        return pipe
      }
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      end.wait()
      #expect(process.terminationStatus == 0)
      let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
      return (lines, try String(contentsOf: path, encoding: .utf8))
    }

    @Test("Ten thousand call stacks are read at once, and then five thousand a second")
    func limit() {
      let table = CallerTable()
      func read(_ count: Int, at milliseconds: UInt64) -> Int {
        (0..<count).count { _ in table.number(at: milliseconds * 1_000_000) != nil }
      }
      #expect(read(10_100, at: 5_000) == 10_000)
      #expect(read(100, at: 5_001) == 5)
      #expect(read(10_100, at: 8_000) == 10_000)
      // An event that was reported a moment later may have happened earlier.
      #expect(read(1, at: 7_999) == 0)
    }

    @Test("The planted faults of a program are found by file and line, through its trace alone")
    func faults() throws {
      let (lines, file) = try Self.run.get()
      let first = try line("the first title")
      let second = try line("the second title")
      #expect(lines.contains { $0.hasPrefix("1 main.swift:\(first) showNextTitle") })
      #expect(lines.contains { $0.hasPrefix("1 main.swift:\(second) showTitleOfQueue") })
      #expect(lines.contains("callers: some, of the package: 0"))
      let carried = try line("the notification")
      #expect(lines.contains { $0.hasPrefix("1 main.swift:\(carried) turnUp") })
      // The observer was registered in the line before the one that is marked.
      let slow = try line("slow") - 1
      #expect(lines.contains { $0.hasPrefix("traced/main.swift:\(slow), owner Meter, 5 calls") })
      #expect(lines.contains("traced/main.swift:\(try line("leak"))  40"))
      #expect(lines.contains("hearers: 40"))
      // No stack has functions that its fingerprint does not cover.
      #expect(lines.contains("dives: 12, with the callers of others: 0"))
      #expect(lines.count { $0.hasPrefix("title: ") && $0.hasSuffix("causes: 1, calls: 40") } == 2)
      let isNamed = file.contains("\"from\":\"main.swift:\(first) showNextTitle")
      #expect(isNamed)
    }
  }
#endif
