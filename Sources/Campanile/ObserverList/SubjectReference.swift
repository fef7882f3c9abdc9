/// A subject that somebody wants to name later, and does not keep alive.
///
/// Sendable although the subject need not be: nothing but its identity is used.
struct SubjectReference<Subject: AnyObject>: @unchecked Sendable {
  private let isNamed: Bool
  private weak let subject: Subject?

  init(_ subject: Subject?) {
    isNamed = subject != nil
    self.subject = subject
  }

  enum Current {
    /// There was no subject.
    case any
    case one(Subject)
    case dead
  }

  var current: Current {
    if !isNamed { return .any }
    return subject.map { .one($0) } ?? .dead
  }
}
