/// The messages of a source, about any subject or about one, as the base of a signal.
///
/// The subject is not kept alive. Its name is reserved, so no other subject is mistaken for it, and
/// no weak reference slows it down. Its lifetime, if it has one, ends the registrations.
struct SourceMessages: Sendable {
  let source: any MessageSource
  var subject: SubjectIdentity?
  var lifetime: EndActions?

  /// Registers an observer of the messages of type `M`.
  @inline(__always)
  func register<M: Sendable>(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<M>
  ) -> Registration {
    // The name is reserved here until the registration has reserved it.
    defer { extendLifetime(subject) }
    request.subjectLifetime = lifetime
    return source.register(request, body, about: subject?.name)
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
