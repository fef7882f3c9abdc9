/// What an expectation throws that was not met.
///
/// A test that throws it fails, in Swift Testing as in XCTest, and shows ``description``: the place
/// of the expectation and a sentence that says what was expected and what came instead.
public struct ExpectationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of expectation was not met.
  public struct Code: Hashable, Sendable {
    private enum Kind { case timedOut, different, unexpected, ended, alive, observerThrew }
    private let kind: Kind

    /// What was expected had not come in time.
    public static let timedOut = Code(kind: .timedOut)
    /// Something came that is not what was expected.
    public static let different = Code(kind: .different)
    /// Something came where nothing was expected.
    public static let unexpected = Code(kind: .unexpected)
    /// A sequence ended, or did not, or failed.
    public static let ended = Code(kind: .ended)
    /// Something lives, or is observed, that should be gone.
    public static let alive = Code(kind: .alive)
    /// An observer threw.
    public static let observerThrew = Code(kind: .observerThrew)
  }

  /// What kind of expectation was not met.
  public let code: Code
  /// What was expected, and what came instead.
  public let message: String
  /// The file of the expectation, as `#fileID` names it.
  public let file: String
  /// The line of the expectation.
  public let line: Int

  init(_ code: Code, _ message: String, _ caller: Caller) {
    self.code = code
    self.message = message
    file = "\(caller.file)"
    line = Int(caller.line)
  }

  /// The place of the expectation, and the message.
  public var description: String { "\(file):\(line): \(message)" }
}

/// A number with its noun, as sentences have it.
func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}
