public import Foundation

extension Notification {
  /// The value for `key` in the user info, for decoders.
  ///
  /// A cast to `any P & Sendable` succeeds for every `P`, because `Sendable` cannot be checked at
  /// run time. So a decoder with a value of such a type must know which types it accepts.
  ///
  /// - Throws: ``NotificationDecodingError`` if the value is missing or has another type.
  public func value<Value>(
    forKey key: AnyHashable, as type: Value.Type = Value.self
  ) throws(NotificationDecodingError) -> Value {
    guard let found = userInfo?[key] else {
      throw NotificationDecodingError(.missingValue, "The user info has no value for '\(key)'")
    }
    guard let value = found as? Value else {
      throw NotificationDecodingError(
        .wrongType,
        """
        The user info has \(withArticle(Swift.type(of: found))) for '\(key)' instead of \
        \(withArticle(type))
        """)
    }
    return value
  }

  /// The object of the notification, for decoders.
  ///
  /// - Throws: ``NotificationDecodingError`` if the object is missing or has another type.
  public func object<Object>(
    as type: Object.Type = Object.self
  ) throws(NotificationDecodingError) -> Object {
    guard let value = object as? Object else {
      throw NotificationDecodingError(.wrongObject, "The notification is about no \(type)")
    }
    return value
  }
}

/// The name of a type with its article.
private func withArticle(_ type: any Any.Type) -> String {
  let name = "\(type)"
  // Most names that begin with U are spelled out, as `UInt`, or pronounced with a Y.
  let isVowel = "AEIO".contains(name.prefix(1).uppercased())
  return (isVowel ? "an " : "a ") + name
}
