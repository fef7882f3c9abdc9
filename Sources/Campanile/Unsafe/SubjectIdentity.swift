/// Which instance a subject is, to be compared now and after its end.
///
/// The instance is not kept alive. Its name is reserved, so that no other one comes to have it. To
/// compare does not hold the instance, so that its last release is never the comparing thread's.
package final class SubjectIdentity: Sendable {
  private let hold: SubjectHold
  let name: SubjectName

  /// What the instance is known by in a table, whose entry keeps this.
  package var key: ObjectIdentifier { name.address.id }

  /// The key that a subject has in a table, whose entry keeps its identity.
  package static func key(of subject: AnyObject) -> ObjectIdentifier {
    SubjectName(subject).address.id
  }

  /// Makes the identity of `subject`.
  ///
  /// A subject whose deinit has begun is as good as dead, and its name cannot be reserved: what is
  /// made then is the identity of no instance.
  package init(_ subject: AnyObject) {
    let named = isDeinitializing(subject) ? Nobody() : subject
    name = SubjectName(named)
    hold = SubjectHold(name)
    // Kept until its name is reserved.
    withExtendedLifetime(named) {}
  }

  /// What only an identity knows.
  private final class Nobody {}

  /// Whether this is `subject`, whose deinit may have begun.
  package func isIdentity(of subject: AnyObject) -> Bool { name == SubjectName(known: subject) }
}

/// A subject that somebody wants to name later, and does not keep alive.
///
/// Sendable although the subject need not be: nothing but its identity is used.
package struct SubjectReference<Subject: AnyObject>: @unchecked Sendable {
  private let isNamed: Bool
  private weak let subject: Subject?

  package init(_ subject: Subject??) {
    isNamed = subject != nil
    self.subject = subject ?? nil
  }

  /// The subject, `.some(nil)` if it has gone, or `nil` if none was named.
  package var current: Subject?? { isNamed ? .some(subject) : .none }
}
