import Foundation

/// Standard output: a few lines drawn in place on a terminal, plain lines anywhere else.
@MainActor final class Display {
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  private var drawn: [String] = []

  /// How often the lines are worth drawing again.
  var secondsPerRefresh: Double { isTerminal ? 0.04 : 0.5 }

  init() {
    // Who reads may stop before we do. Then a write fails, instead of ending the program.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Writes a line that stays.
  func say(_ line: String) {
    write(rewind() + line + "\n" + picture())
  }

  /// Replaces the lines drawn last by `lines`, or writes them in one where nothing can be replaced.
  func show(_ lines: [String]) {
    guard isTerminal else { return write(lines.joined(separator: " | ") + "\n") }
    let start = rewind()
    drawn = lines
    write(start + picture())
  }

  /// Leaves the lines drawn last where they are, and goes on below.
  func finish() { drawn = [] }

  /// Moves the cursor to the first line drawn, and erases from there.
  private func rewind() -> String { drawn.isEmpty ? "" : "\u{1B}[\(drawn.count)A\u{1B}[J" }

  private func picture() -> String { drawn.map { $0 + "\n" }.joined() }

  private func write(_ text: String) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    } catch CocoaError.fileWriteOutOfSpace {
      FileHandle.standardError.write(Data("player: The output is full.\n".utf8))
      exit(1)
    } catch {
      // Whoever read this has gone.
      exit(0)
    }
  }
}
