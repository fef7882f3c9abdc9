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

  package init(_ subject: AnyObject) {
    name = SubjectName(subject)
    hold = SubjectHold(name)
  }

  package static func == (one: SubjectIdentity, other: SubjectIdentity) -> Bool {
    one.name == other.name
  }
}
