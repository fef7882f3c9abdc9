import ArgumentParser
import Foundation

/// The program's entry.
@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures Campanile beside its rivals, in one process.",
    subcommands: [
      Measure.self, CountInstructions.self, Soak.self, Subscribers.self, TraceShare.self,
      Receive.self,
    ],
    defaultSubcommand: Measure.self)
}

/// Runs the cases and prints the table.
struct Measure: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "measure", abstract: "Runs the cases and prints a table (the default).")

  @Option(help: ArgumentHelp("Run only the cases with this in their name.", valueName: "text"))
  var filter: String?

  @Option(help: ArgumentHelp("Write the results to this file too.", valueName: "file"))
  var json: String?

  @Flag(help: "Run every case for a shorter time.")
  var quick = false

  func run() throws {
    guard Allocations.passesControl() else {
      throw Failure("Allocations are miscounted: the control, whose count is known, is off.")
    }
    let filter = filter?.lowercased() ?? ""
    let cases = AllCases.all.filter {
      filter.isEmpty || $0.name.lowercased().contains(filter)
    }
    if cases.isEmpty {
      throw ValidationError("No case has \"\(filter)\" in its name.")
    }
    let file = json.map { URL(fileURLWithPath: $0) }
    if let file { try write([], to: file) }

    let runner = quick ? Runner.quick : .full
    var results: [CaseResult] = []
    Output.write(Table.header)
    for (index, item) in cases.enumerated() {
      Progress.show("\(index + 1) of \(cases.count): \(item.name)")
      let new = runner.run(item)
      Progress.clear()
      for result in new { Output.write(Table.lines(result)) }
      results += new
    }
    if let file { try write(results, to: file) }
  }

  /// Writes what there is; the first time before anything is measured, so that a file that cannot
  /// be written is found out early.
  private func write(_ results: [CaseResult], to file: URL) throws {
    do {
      try Report(results: results).write(to: file)
    } catch {
      throw Failure("The file \(file.path) cannot be written: \(error.localizedDescription)")
    }
  }
}

/// Why the program cannot go on, in a sentence.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The table, on standard output, where each line appears when it is written.
enum Output {
  static func write(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}

/// What is being measured, on standard error.
enum Progress {
  private static let isTerminal = isatty(STDERR_FILENO) != 0

  static func show(_ text: String) {
    let line = isTerminal ? "\u{1B}[2K\r\(text)" : "\(text)\n"
    FileHandle.standardError.write(Data(line.utf8))
  }

  /// Takes the line away again on a terminal, where the table may stand too.
  static func clear() {
    if isTerminal { FileHandle.standardError.write(Data("\u{1B}[2K\r".utf8)) }
  }
}
