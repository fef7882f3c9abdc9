/// The identity of a key path, without the power to read through it.
///
/// Reading may need the isolation in which the key path was made, but comparing does not.
package struct KeyPathIdentity: @unchecked Sendable, Hashable {
  // SAFETY: a key path never changes, and this one is only compared, hashed and described.
  private let keyPath: AnyKeyPath

  package init(_ keyPath: AnyKeyPath) { self.keyPath = keyPath }

  package static func == (one: Self, other: AnyKeyPath) -> Bool { one.keyPath == other }

  /// The identity of the key path object; valid for as long as this lives.
  package var object: ObjectIdentifier { ObjectIdentifier(keyPath) }

  package var rootType: any Any.Type { type(of: keyPath).rootType }
  package var valueType: any Any.Type { type(of: keyPath).valueType }
  package var text: String { "\(keyPath)" }
}
