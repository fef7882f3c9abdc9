import Campanile

/// Which property a change is about: the identity of a key path.
///
/// ```swift
/// if change.path == \Player.title { … }
/// ```
///
/// It compares with key paths and cannot be read through, so that it can go to any thread: reading
/// may need the isolation that the key path was made in.
public struct KVOPath: Sendable, Hashable, CustomStringConvertible {
  let identity: KeyPathIdentity

  /// Creates the identity of a key path.
  public init(_ keyPath: AnyKeyPath) { identity = KeyPathIdentity(keyPath) }

  /// The key path as an object: two that are equal may be two objects, and to compare these runs no
  /// foreign code.
  var object: ObjectIdentifier { identity.object }

  /// Whether it is the identity of that key path.
  public static func == (path: Self, keyPath: AnyKeyPath) -> Bool { path.identity == keyPath }

  /// Whether it is the identity of that key path, for `switch`.
  public static func ~= (keyPath: AnyKeyPath, path: Self) -> Bool { path.identity == keyPath }

  /// The key path as the standard library describes it.
  ///
  /// Where that does not know the name of a computed property, the type of the value stands for it.
  public var description: String {
    let text = identity.text
    guard text.contains("<") else { return text }
    return "\\\(identity.rootType).<\(identity.valueType)>"
  }
}
