/// Which key path it is, without the power to read through it.
///
/// To read may need the isolation that the key path was made in; to compare does not.
package struct KeyPathIdentity: @unchecked Sendable, Hashable {
  // SAFETY: a key path never changes, and this one is only compared, hashed and described.
  private let keyPath: AnyKeyPath

  package init(_ keyPath: AnyKeyPath) { self.keyPath = keyPath }

  package static func == (one: Self, other: AnyKeyPath) -> Bool { one.keyPath == other }

  /// Which object it is; valid for as long as this lives.
  package var object: ObjectIdentifier { ObjectIdentifier(keyPath) }

  package var rootType: any Any.Type { type(of: keyPath).rootType }
  package var valueType: any Any.Type { type(of: keyPath).valueType }
  package var text: String { "\(keyPath)" }
}
