import Campanile

/// The identity of a key path, which says which property has changed.
///
/// ```swift
/// if change.path == \Player.title { … }
/// ```
///
/// It compares with key paths, but no value can be read through it, which may need the isolation in
/// which the key path was made. So it is `Sendable`.
public struct KVOPath: Sendable, Hashable, CustomStringConvertible {
  let identity: KeyPathIdentity

  /// Creates the identity of a key path.
  public init(_ keyPath: AnyKeyPath) { identity = KeyPathIdentity(keyPath) }

  /// The key path as an object, which is compared without foreign code; equal ones may be two.
  var object: ObjectIdentifier { identity.object }

  /// Whether this is the identity of `keyPath`.
  public static func == (path: Self, keyPath: AnyKeyPath) -> Bool { path.identity == keyPath }

  /// Whether this is the identity of `keyPath`, for `switch`.
  public static func ~= (keyPath: AnyKeyPath, path: Self) -> Bool { path.identity == keyPath }

  /// The key path as the standard library describes it, or with the type of the value, if the
  /// library does not know the name of a computed property.
  public var description: String {
    let text = identity.text
    guard text.contains("<") else { return text }
    return "\\\(identity.rootType).<\(identity.valueType)>"
  }
}
