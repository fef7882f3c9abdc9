import Foundation

/// Standard output: a few lines drawn in place on a terminal, plain lines anywhere else.
@MainActor final class Display {
  private let canRedraw: Bool
  private var picture = Picture()

  /// How often the lines are worth drawing again.
  var secondsPerRefresh: Double { canRedraw ? 0.04 : 0.5 }

  init() {
    let terminal = ProcessInfo.processInfo.environment["TERM"]
    canRedraw = isatty(STDOUT_FILENO) == 1 && Self.canMoveCursor(terminal)
    // Who reads may stop before we do. Then a write fails, instead of ending the program.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Whether a terminal of this kind, as the environment names it, moves its cursor when told.
  nonisolated static func canMoveCursor(_ terminal: String?) -> Bool {
    guard let terminal else { return false }
    return !terminal.isEmpty && terminal != "dumb"
  }

  /// Writes a line that stays.
  func say(_ line: String) {
    write(canRedraw ? picture.insert(line, in: size) : line + "\n")
  }

  /// Replaces the lines drawn last by `lines`, or writes them in one where nothing can be replaced.
  func show(_ lines: [String]) {
    write(
      canRedraw ? picture.redraw(lines, in: size) : lines.joined(separator: " | ") + "\n")
  }

  /// Leaves the lines drawn last where they are, and goes on below.
  func finish() { picture.forget() }

  /// The size of the terminal now: it may change at any time.
  private var size: TerminalSize {
    var size = winsize()
    let isKnown = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0
    guard isKnown, size.ws_col > 0, size.ws_row > 0 else { return TerminalSize() }
    return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

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
