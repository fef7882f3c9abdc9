/// The messages of a source, about any subject or about one, as the base of a signal.
///
/// The subject is not kept alive. Its name is reserved, so no other subject is mistaken for it, and
/// no weak reference slows it down. Its lifetime, if it has one, ends the registrations.
enum SourceMessages: Sendable {
  case all(any MessageSource)
  case about(SubjectIdentity, EndActions?, any MessageSource)

  /// Registers an observer of the messages of type `M`.
  @inline(__always)
  consuming func register<M: Sendable>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<M>
  ) -> Registration {
    // Moved, and not copied. The name is reserved here until the registration has reserved it.
    switch consume self {
    case .all(let source):
      return source.register(request, body, about: nil)
    case .about(let subject, let lifetime, let source):
      defer { extendLifetime(subject) }
      if let lifetime { request.subjectLifetime = lifetime }
      return source.register(request, body, about: subject.name)
    }
  }
}

/// A source of messages of many types, which registers observers of the type that they ask for.
protocol MessageSource: AnyObject, Sendable {
  /// - Parameter subject: The subject of the messages, or `nil` for any.
  func register<Message: Sendable>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Message>,
    about subject: SubjectName?
  ) -> Registration
}
