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
