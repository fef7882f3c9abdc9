import CampanileRelay
import Foundation

/// The end of a command: its exit status and its message.
struct Ending: Error {
  var status: Int32
  /// The message for the user, in one sentence.
  var reason: String?

  static let done = Ending(status: 0)

  static func failed(_ reason: String) -> Self { Self(status: 1, reason: reason) }
}

/// Standard output and standard error, one line at a time.
enum Output {
  /// Writes a line without buffering it.
  ///
  /// - Throws: An ending, which has no reason if the reader has closed the pipe.
  static func write(_ line: String) throws(Ending) {
    do throws(SystemError) {
      try ProgramCalls.output(Array((line + "\n").utf8))
    } catch {
      throw error.code == EPIPE ? .done : .failed(error.description)
    }
  }

  /// Writes a line to standard error.
  ///
  /// Errors are ignored.
  static func note(_ line: String) {
    try? FileHandle.standardError.write(contentsOf: Data("campanile: \(line)\n".utf8))
  }
}
