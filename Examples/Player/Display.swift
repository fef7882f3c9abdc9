import Foundation

/// Standard output or standard error: a few lines that are redrawn in place on a terminal, and plain lines elsewhere.
@MainActor final class Display {
  private let output: FileHandle
  private let canRedraw: Bool
  private var picture = Picture()

  /// The time between two updates of the lines.
  var secondsPerRefresh: Double { canRedraw ? 0.04 : 0.5 }

  /// Draws on `output`.
  init(on output: FileHandle) {
    self.output = output
    let terminal = ProcessInfo.processInfo.environment["TERM"]
    canRedraw = isatty(output.fileDescriptor) == 1 && Self.canMoveCursor(terminal)
    // The reader of the output may exit first. A write then fails, instead of ending the program.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Whether this kind of terminal, a value of `TERM`, can move its cursor.
  nonisolated static func canMoveCursor(_ terminal: String?) -> Bool {
    guard let terminal else { return false }
    return !terminal.isEmpty && terminal != "dumb"
  }

  /// Writes a line that stays.
  func say(_ line: String) {
    write(canRedraw ? picture.insert(line, in: size) : line + "\n")
  }

  /// Replaces the lines of the last call.
  ///
  /// If nothing can be redrawn, writes all of them in one line.
  func show(_ lines: [String]) {
    write(
      canRedraw ? picture.redraw(lines, in: size) : lines.joined(separator: " | ") + "\n")
  }

  /// Leaves the last lines on the screen, and continues below.
  func finish() { picture.forget() }

  /// The current size of the terminal, which may change at any time.
  private var size: TerminalSize {
    var size = winsize()
    let isKnown = unsafe ioctl(output.fileDescriptor, UInt(TIOCGWINSZ), &size) == 0
    guard isKnown, size.ws_col > 0, size.ws_row > 0 else { return TerminalSize() }
    return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  private func write(_ text: String) {
    do {
      try output.write(contentsOf: Data(text.utf8))
    } catch CocoaError.fileWriteOutOfSpace {
      FileHandle.standardError.write(Data("player: The output is full.\n".utf8))
      exit(1)
    } catch {
      // The reader of the output has exited.
      exit(0)
    }
  }
}
