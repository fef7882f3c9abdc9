import CampanileFoundation
import CampanileRelay
import Foundation

/// A notification that has been posted on a bus.
struct DistributedPost: Sendable {
  /// The first token of the names under which notifications are sent.
  static let domain = "notification"

  let name: Notification.Name
  let object: String?
  /// Whether suspended observers receive it at once.
  let isImmediate: Bool
  /// The notification that observers receive.
  ///
  /// It was decoded from bytes, so no other code can change it.
  let content: PostedNotification

  static func subject(of name: Notification.Name) -> String {
    "\(domain).\(SubjectName.escaped(name.rawValue))"
  }

  // MARK: Bytes

  /// The first bytes of each binary property list.
  private static let firstBytes = Array("bplist00".utf8)

  /// Encodes a notification as a binary property list.
  static func encode(
    _ name: String, _ object: String?, _ userInfo: [AnyHashable: Any]?,
    _ options: DistributedCenter.Options
  ) throws -> [UInt8] {
    // Other bits need not fit in the integer that is sent.
    let known = options.intersection([.deliverImmediately, .postToAllSessions])
    var list: [String: Any] = [Key.name: name, Key.options: Int(known.rawValue)]
    if let object { list[Key.object] = object }
    if var userInfo {
      // It names centers of this process.
      userInfo[NotificationBridge.pathKey] = nil
      try check(userInfo)
      list[Key.userInfo] = userInfo
    }
    let bytes = [UInt8](
      try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
    try BinaryPropertyList.check(bytes)
    return bytes
  }

  /// Decodes the result of `encode`.
  init(_ bytes: [UInt8]) throws {
    // Foundation would also read other formats, and leaks their errors on Linux.
    guard bytes.starts(with: Self.firstBytes) else {
      throw DistributedPostError("A notification is a binary property list.")
    }
    try BinaryPropertyList.check(bytes)
    // SAFETY: The pointer for the format is `nil`.
    let list = unsafe try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    guard let list = list as? [String: Any], let name = list[Key.name] as? String else {
      throw DistributedPostError("A notification is a dictionary with a name.")
    }
    self.name = Notification.Name(name)
    object = try Self.value(of: Key.object, in: list)
    let options: UInt? = try Self.value(of: Key.options, in: list)
    isImmediate = DistributedCenter.Options(rawValue: options ?? 0).contains(.deliverImmediately)
    let userInfo: [String: Any]? = try Self.value(of: Key.userInfo, in: list)
    content = PostedNotification(
      Notification(name: self.name, object: object, userInfo: userInfo))
  }

  private enum Key {
    static let name = "name"
    static let object = "object"
    static let userInfo = "userInfo"
    static let options = "options"
  }

  private static func value<Value>(of key: String, in list: [String: Any]) throws -> Value? {
    guard let value = list[key] else { return nil }
    guard let value = value as? Value else {
      throw DistributedPostError("A notification has a \(key) that is no \(Value.self).")
    }
    return value
  }

  /// Checks that a value is a property list, before Foundation reads all of it.
  private static func check(_ userInfo: [AnyHashable: Any]) throws {
    var count = 0
    if let (path, problem) = try problem(in: userInfo, depth: 1, &count) {
      throw DistributedPostError("A notification cannot be posted: userInfo\(path) \(problem).")
    }
  }

  /// The reason why a value is not a property list, and where in it.
  ///
  /// - Parameter count: The number of values so far. One counts as often as it is referred to.
  /// - Throws: An error if there are too many values or levels.
  private static func problem(
    in value: Any, depth: Int, _ count: inout Int
  ) throws -> (path: String, text: String)? {
    count += 1
    guard count <= BinaryPropertyList.greatestSize else { throw BinaryPropertyList.tooLarge }
    guard depth <= BinaryPropertyList.greatestDepth else { throw BinaryPropertyList.tooDeep }
    // The arrays first: on Linux, asking whether one is an object makes one of all of it.
    switch value {
    case let values as [Any]:
      for (index, value) in values.enumerated() {
        if let (path, text) = try problem(in: value, depth: depth + 1, &count) {
          return ("[\(index)]\(path)", text)
        }
      }
      return nil
    case let values as [AnyHashable: Any]:
      for (key, value) in values {
        guard key.base is String else {
          let text = "has a key that is a \(type(of: key.base)), "
          return ("", text + "and the keys of a property list are strings")
        }
        if let (path, text) = try problem(in: value, depth: depth + 1, &count) {
          return ("[\"\(key)\"]\(path)", text)
        }
      }
      return nil
    case is String, is Data, is Date, is NSNumber: return nil
    default: return ("", "is a \(type(of: value)), which is no property list")
    }
  }
}

/// Why a notification cannot be sent or read, in one sentence.
struct DistributedPostError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
