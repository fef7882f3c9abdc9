/// The messages of a source, about any subject or about one, as the base of a signal.
///
/// The subject is not kept alive. Its name is reserved, so no other subject is mistaken for it, and
/// no weak reference slows it down.
enum SourceMessages: Sendable {
  case all(any MessageSource)
  case about(PlainSubject, any MessageSource)
  /// About a subject that has a lifetime, or is not plain.
  case aboutOther(Subject, any MessageSource)

  final class Subject: Sendable {
    let identity: SubjectIdentity
    /// Ends the registrations, if the instance has a lifetime.
    let lifetime: EndActions?

    init(_ identity: SubjectIdentity, _ lifetime: EndActions?) {
      self.identity = identity
      self.lifetime = lifetime
    }
  }

  /// Registers an observer of the messages of type `M`.
  @inline(__always)
  consuming func register<M: Sendable>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<M>
  ) -> Registration {
    // Moved, and not copied. The name is reserved here until the registration has reserved it.
    switch consume self {
    case .all(let source):
      return source.register(request, body, about: nil, nil)
    case .about(let subject, let source):
      defer { extendLifetime(subject) }
      return source.register(request, body, about: subject.name, nil)
    case .aboutOther(let subject, let source):
      defer { extendLifetime(subject) }
      return source.register(request, body, about: subject.identity.name, subject.lifetime)
    }
  }
}

/// A source of messages of many types, which registers observers of the type that they ask for.
protocol MessageSource: AnyObject, Sendable {
  /// Registers an observer of messages about a subject, whose lifetime ends the registration, too, or
  /// about any.
  func register<Message: Sendable>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Message>,
    about subject: SubjectName?, _ lifetime: EndActions?
  ) -> Registration
}
