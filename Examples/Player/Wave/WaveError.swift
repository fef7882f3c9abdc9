/// An error in a WAVE file, described in one sentence.
struct WaveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of error.
  struct Code: Hashable, Sendable {
    private enum Kind {
      case unreadable, unwritable, empty, notWave, truncated, malformed, unsupported, noAudio
    }

    private let kind: Kind

    /// The file is missing, is not an ordinary file, or may not be read.
    static let unreadable = Code(kind: .unreadable)
    /// The file could not be written.
    static let unwritable = Code(kind: .unwritable)
    /// The file has no bytes.
    static let empty = Code(kind: .empty)
    /// The file isn't a RIFF/WAVE file.
    static let notWave = Code(kind: .notWave)
    /// The file is shorter than its headers say.
    static let truncated = Code(kind: .truncated)
    /// The headers of the file contradict each other.
    static let malformed = Code(kind: .malformed)
    /// The file is valid, but the reader does not support its kind of audio.
    static let unsupported = Code(kind: .unsupported)
    /// The file is valid, but has no audio.
    static let noAudio = Code(kind: .noAudio)
  }

  let code: Code
  /// The file, as the user named it.
  let path: String
  /// What is wrong, as the rest of a sentence that begins with the file's name.
  let reason: String

  init(_ code: Code, _ path: String, _ reason: String) {
    self.code = code
    self.path = path
    self.reason = reason
  }

  var description: String { "\(path) \(reason)." }

  static func == (left: Self, right: Self) -> Bool { left.code == right.code }

  func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
