/// Registering at the lists of a center with keys, for CampanileFoundation.
extension KeyTable {
  /// Registers an observer of `key`, or of any key if it is `nil`, about `subject` or about any.
  ///
  /// - Returns: The registration, which has already ended if the center has finished.
  package func register<Value: Sendable>(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Value>, of key: String?,
    about subject: AnyObject?
  ) -> Registration {
    let name = subject.map { SubjectName($0) }
    // Kept until the registration holds its name.
    defer { withExtendedLifetime(subject) {} }
    if let subject { request.subjectLifetime = registry.lifetime(ofSubject: subject) }
    return request.register(body, with: registry) {
      list(of: key, about: name, &$0, $1)
    } ?? ended
  }

  /// Ends one observation, if it is this center's.
  package func removeObserver(_ registration: Registration) {
    if registration.list.registry === registry { registration.cancel() }
  }

  /// Ends the observations of `owner`, limited to `key` and `subject` if these are given.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  package func removeObservers(
    ownedBy owner: AnyObject, of key: String? = nil, about subject: AnyObject? = nil
  ) {
    registry.endAll(ownedBy: owner, under: key, about: subject)
  }
}

extension KeyTable: Traceable, InspectedSource {
  /// A view of the events and the observers of the center, with their keys as names.
  package var inspection: SourceInspection { SourceInspection(self, named: "NotificationCenter") }
}
