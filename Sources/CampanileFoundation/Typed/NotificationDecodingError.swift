public import Foundation

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

/// A notification that could not be decoded for an observer.
public struct NotificationDecodingFailure: Error, Sendable, CustomStringConvertible {
  /// The notification's name.
  public let name: Notification.Name
  /// The type that was to be decoded.
  public let valueType: any Any.Type
  /// What the decoder threw.
  public let error: any Error
  /// The file in which the observer was registered, as `#fileID` names it.
  public let file: String
  /// The line at which the observer was registered.
  public let line: Int

  /// One line with all of it.
  public var description: String {
    "The notification \(name.rawValue) is no \(valueType) for the observer at \(file):\(line): "
      + "\(error)"
  }
}

extension Notification {
  /// What the user info has under `key`, for decoders.
  ///
  /// A decoder whose value is some `any P & Sendable` must know what it takes: the cast lets every
  /// `P` through, as casts to `any Sendable` let through everything.
  ///
  /// - Throws: ``NotificationDecodingError`` if there is nothing, or something of another type.
  public func value<Value>(
    forKey key: AnyHashable, as type: Value.Type = Value.self
  ) throws(NotificationDecodingError) -> Value {
    guard let found = userInfo?[key] else {
      throw NotificationDecodingError(.missingValue, "The user info has no value for '\(key)'")
    }
    guard let value = found as? Value else {
      throw NotificationDecodingError(
        .wrongType,
        "The user info has a \(Swift.type(of: found)) for '\(key)' instead of a \(type)")
    }
    return value
  }

  /// The object of the notification, for decoders.
  ///
  /// - Throws: ``NotificationDecodingError`` if there is none, or one of another type.
  public func object<Object>(
    as type: Object.Type = Object.self
  ) throws(NotificationDecodingError) -> Object {
    guard let value = object as? Object else {
      throw NotificationDecodingError(.wrongObject, "The notification is about no \(type)")
    }
    return value
  }
}
