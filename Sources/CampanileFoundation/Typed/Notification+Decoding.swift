public import Foundation

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
        """
        The user info has \(withArticle(Swift.type(of: found))) for '\(key)' instead of \
        \(withArticle(type))
        """)
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

/// The name of a type with its article.
private func withArticle(_ type: any Any.Type) -> String {
  let name = "\(type)"
  // Those that begin with U mostly are spelled, as UInt, or said with a Y.
  let isVowel = "AEIO".contains(name.prefix(1).uppercased())
  return (isVowel ? "an " : "a ") + name
}
