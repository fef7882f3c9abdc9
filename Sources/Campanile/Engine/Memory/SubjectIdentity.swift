/// The identity of a subject, which can be compared even after the subject's end.
///
/// The instance is not kept alive. Its name is reserved, so that no other instance gets the same
/// name. A comparison does not retain the instance, so the comparing thread never makes the last
/// release.
package final class SubjectIdentity: Sendable {
  private let hold: SubjectHold
  let name: SubjectName

  /// The key of the instance in a table, whose entry keeps this identity.
  package var key: ObjectIdentifier { name.address.id }

  /// The key that a subject has in a table, whose entry keeps its identity.
  package static func key(of subject: AnyObject) -> ObjectIdentifier {
    SubjectName(subject).address.id
  }

  /// Makes the identity of `subject`.
  ///
  /// If the deinit of the subject has begun, its name cannot be reserved. The result is then the
  /// identity of no instance.
  package init(_ subject: AnyObject) {
    let named = isDeinitializing(subject) ? Nobody() : subject
    name = SubjectName(named)
    hold = SubjectHold(name)
    // Kept until its name is reserved.
    withExtendedLifetime(named) {}
  }

  /// An instance that only an identity refers to.
  private final class Nobody {}

  /// Whether this is `subject`, whose deinit may have begun.
  package func isIdentity(of subject: AnyObject) -> Bool { name == SubjectName(known: subject) }
}

/// A subject that can be named later and is not kept alive.
///
/// Sendable although the subject need not be: nothing but its identity is used.
package struct SubjectReference<Subject: AnyObject>: @unchecked Sendable {
  private let isNamed: Bool
  private weak let subject: Subject?

  package init(_ subject: Subject??) {
    isNamed = subject != nil
    self.subject = subject ?? nil
  }

  /// The subject, `.some(nil)` if it has died, or `nil` if none was named.
  package var current: Subject?? { isNamed ? .some(subject) : .none }
}
