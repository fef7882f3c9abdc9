/// The reason why a value could not be read from a notification.
///
/// Two errors are equal if their codes are equal.
public struct NotificationDecodingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Hashable, Sendable {
    private enum Kind { case missingValue, wrongType, wrongObject }
    private let kind: Kind

    /// The user info has no value for the key.
    public static let missingValue = Code(kind: .missingValue)
    /// The user info has a value of another type for the key.
    public static let wrongType = Code(kind: .wrongType)
    /// The notification has no object, or an object of another type.
    public static let wrongObject = Code(kind: .wrongObject)
  }

  /// The kind of error.
  public let code: Code
  /// A sentence that says what is wrong.
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
