/// Which instance a subject is, to be compared now and after its end.
///
/// The instance is not kept alive. Its memory is, so that no other one comes to have its address.
/// To compare does not hold the instance, so that its last release is never the comparing thread's.
package struct SubjectIdentity: @unchecked Sendable {
  // SAFETY: never read; it is here for what an unowned reference does to the memory.
  private unowned let subject: AnyObject
  /// What to compare with.
  package let id: ObjectIdentifier

  package init(_ subject: AnyObject) {
    self.subject = subject
    id = ObjectIdentifier(subject)
  }

  package static func == (one: Self, other: Self) -> Bool { one.id == other.id }
}
