/// Why a value could not be read out of a notification.
///
/// Two errors are equal if their codes are.
public struct NotificationDecodingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Hashable, Sendable {
    private enum Kind { case missingValue, wrongType, wrongObject }
    private let kind: Kind

    /// The user info has nothing under the key.
    public static let missingValue = Code(kind: .missingValue)
    /// What the user info has under the key is of another type.
    public static let wrongType = Code(kind: .wrongType)
    /// The notification is about no object, or about one of another type.
    public static let wrongObject = Code(kind: .wrongObject)
  }

  /// The kind of error.
  public let code: Code
  /// What is wrong, in a sentence.
  public let message: String

  /// Creates an error.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }

  /// Whether the codes are equal.
  public static func == (one: Self, other: Self) -> Bool { one.code == other.code }

  /// Hashes the code.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
