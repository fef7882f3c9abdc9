/// A subject's name with the reservation of its address, so that no other instance gets that name.
///
/// The instance is not kept alive. A comparison does not retain the instance, so the comparing thread
/// never makes the last release. Each copy reserves the address.
package struct SubjectIdentity: @unchecked Sendable {
  // SAFETY: never read; it is here for what an unowned reference does to native memory.
  private unowned let memory: AnyObject
  let name: SubjectName

  /// Makes the identity of `subject`.
  ///
  /// If the deinit of the subject has begun, its name cannot be reserved. The result is then the
  /// identity of no instance.
  @inline(__always)
  package init(_ subject: AnyObject) {
    let named = isDeinitializing(subject) ? nobody : subject
    name = SubjectName(named)
    memory = name.object
    // Kept until its name is reserved.
    extendLifetime(named)
  }

  /// The key of the instance in a table, whose entry keeps this identity.
  package var key: ObjectIdentifier { name.address }

  /// The key that a subject has in a table, whose entry keeps its identity.
  package static func key(of subject: AnyObject) -> ObjectIdentifier {
    SubjectName(subject).address
  }

  /// Whether this is `subject`, whose deinit may have begun.
  package func isIdentity(of subject: AnyObject) -> Bool { name == SubjectName(known: subject) }
}

/// The placeholder where no object is.
let nobody: any AnyObject & Sendable = Nobody()

private final class Nobody: Sendable {}
