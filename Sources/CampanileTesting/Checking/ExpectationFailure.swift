/// The error that a failed expectation throws.
///
/// A test that throws it fails, in Swift Testing and in XCTest, and shows ``description``, which
/// has the place of the expectation, and a sentence with the expected and the actual result.
public struct ExpectationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of expectation that failed.
  public struct Code: Hashable, Sendable {
    private enum Kind { case timedOut, different, unexpected, ended, alive, observerThrew }
    private let kind: Kind

    /// The expected value or event did not arrive in time.
    public static let timedOut = Code(kind: .timedOut)
    /// A value arrived that is not the expected one.
    public static let different = Code(kind: .different)
    /// A value arrived where none was expected.
    public static let unexpected = Code(kind: .unexpected)
    /// A sequence ended, or did not end, or threw an error.
    public static let ended = Code(kind: .ended)
    /// An object lives, or a center has observers, although none were expected.
    public static let alive = Code(kind: .alive)
    /// An observer threw.
    public static let observerThrew = Code(kind: .observerThrew)
  }

  /// The kind of expectation that failed.
  public let code: Code
  /// A sentence that says what was expected, and what happened instead.
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

/// A number with its noun, singular or plural.
func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}
