/// A message center whose topics are strings instead of types, for values of one type.
///
/// An observer names a key or any key, and a subject or any subject. All observers are called in
/// one order, the order in which they registered. The promises of ``MessageCenter`` hold here too.
/// A post takes no lock, and counts no references, if its key is the constant with which the key was
/// first observed. Another post takes a lock while it looks its key up.
///
/// A post finds the observers of its subject by the subject, whatever key they observe. Observers
/// of other subjects do not slow it.
package final class KeyedCenter<Value: Sendable>: Sendable {
  let registry: ObserverRegistry
  /// The observers of any key.
  private let wide: TopicList
  private let keys = KeyTable()

  /// Creates a center without observers.
  package convenience init() { self.init(registry: ObserverRegistry()) }

  init(registry: ObserverRegistry) {
    self.registry = registry
    wide = TopicList(registry: registry, valueType: Value.self)
  }

  deinit {
    finish()
    registry.finishReports()
  }

  /// What shows the events and the observers of the center.
  package func inspection(named name: String) -> SourceInspection {
    SourceInspection(self, named: name)
  }

  /// Ends every observation, and refuses later ones.
  package func finish() {
    registry.finish(parts)
  }

  // MARK: Posting

  /// Posts a value under `key`, about `subject` if there is one, to all observers.
  ///
  /// - Parameter value: Makes the value, if the post may reach an observer. The post has begun, so
  ///   a caller that waits for its end waits for this too.
  @inlinable
  package func post(to key: String, about subject: AnyObject?, _ value: () -> Value) {
    guard let audience = audience(of: key) else { return }
    post(value(), about: subject, to: audience)
  }

  /// Posts a value to the observers of `key` alone, without those of any key.
  ///
  /// - Returns: whether anybody observes the key.
  @inlinable
  package func postNarrowly(
    to key: String, about subject: AnyObject?, _ value: () -> Value
  ) -> Bool {
    guard let audience = narrowAudience(of: key) else { return false }
    post(value(), about: subject, to: audience)
    return true
  }

  /// Posts a value to the observers of any key alone.
  ///
  /// - Returns: whether there are any.
  @inlinable
  package func postWidely(about subject: AnyObject?, _ value: () -> Value) -> Bool {
    guard let audience = wideAudience else { return false }
    post(value(), about: subject, to: audience)
    return true
  }

  /// Begins a post under a key.
  ///
  /// It is not inlined, like the methods below. The stack frame of a look-up must be gone before
  /// observers run, because they may post again.
  ///
  /// - Returns: The lists that it may reach, or `nil` if there are no observers.
  @usableFromInline
  package func audience(of key: String) -> KeyedAudience? {
    // Before the lists are read: an observer that registers after this is reached through none of them.
    let limit = registry.now
    let wide = wide.isObserved ? wide : nil
    if let audience = keys.audience(of: key, wide: wide, registry, limit) { return audience }
    // A post that reaches no observer is an event all the same.
    return wide != nil || registry.isWatched ? KeyedAudience(registry, wide: wide, limit) : nil
  }

  @usableFromInline
  package func narrowAudience(of key: String) -> KeyedAudience? {
    keys.audience(of: key, wide: nil, registry, .max)
  }

  @usableFromInline
  package var wideAudience: KeyedAudience? {
    wide.isObserved ? KeyedAudience(registry, wide: wide, .max) : nil
  }

  /// Posts a value to an audience, and ends the post.
  @usableFromInline
  package func post(
    _ value: Value, about subject: AnyObject?, to audience: consuming KeyedAudience
  ) {
    registry.post(value, about: subject, to: audience)
  }

  /// Posts a value that came through other centers, which are in ``Post/path``.
  package func post(
    _ value: Value, about subject: AnyObject?, along path: [PathStep],
    to audience: consuming KeyedAudience
  ) {
    registry.post(value, Post(subject).along(path), to: audience)
  }

  /// Whether a post under a key would reach an observer, or be reported.
  package func isHeard(_ key: String) -> Bool {
    wide.isObserved || registry.isWatched || keys.isObserved(key)
  }

  /// Whether anybody observes `key`, or any key where that is `nil`.
  package func isObserved(_ key: String?) -> Bool {
    key.map { keys.isObserved($0) } ?? wide.isObserved
  }

  // MARK: Registering

  /// Registers an observer of `key`, or of any key if it is `nil`, about the given subject, or
  /// about any.
  ///
  /// - Returns: The registration. It has already ended if the subject has died or is in its deinit,
  ///   or if the center has finished.
  package func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Value>, of key: String?,
    about given: AnyObject??
  ) -> Registration {
    var subject = given ?? nil
    if given != nil, subject.map({ isDeinitializing($0) }) ?? true {
      // Nothing arrives about an instance that is dead or in its deinit. A sequence stays silent and
      // ends with the center.
      guard body.isSequence else { return ended }
      subject = nobody
    }
    let name = subject.map { SubjectName($0) }
    // Kept until the registration holds its name.
    defer { withExtendedLifetime(subject) {} }
    if let subject, let lifetime = registry.lifetime(ofSubject: subject) {
      request.lifetimes = [lifetime]
    }
    let registration = request.register(body, with: registry) {
      destination(of: key, about: name, &$0, $1)
    }
    return registration ?? ended
  }

  @inline(never)
  private func destination(
    of key: String?, about name: SubjectName?, _ garbage: inout Garbage,
    _ held: borrowing ObserverRegistry.Held
  ) -> Destination {
    guard let key else { return wide.destination(about: name, &garbage, held) }
    return keys.makeTopic(of: key, valueType: Value.self, registry, &garbage, held)
      .destination(about: name, &garbage, held)
  }

  /// A registration that has ended.
  package var ended: Registration { wide.ended }

  // MARK: Removing

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
    for registration in registrations(ownedBy: owner, of: key, about: subject) {
      registration.cancel()
    }
  }

  /// The observations of `owner`, limited to `key` and `subject` if these are given.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  @_optimize(size)
  package func registrations(
    ownedBy owner: AnyObject, of key: String? = nil, about subject: AnyObject? = nil
  ) -> [Registration] {
    // Its name is unique while it lives, so it is kept to the end of the look-up.
    defer { withExtendedLifetime(subject) {} }
    let name = subject.flatMap { SubjectName(known: $0) }
    if subject != nil && name == nil { return [] }
    // Chosen under the lock, because the lists of live registrations exist there.
    return registry.withState { $0.registrations(ownedBy: owner, of: key, about: name) }
  }

  // MARK: Looking

  /// The live observations, oldest first, with their keys as names.
  package var registrations: [RegistrationDescription] { inspection(named: "").registrations }

  /// The live observations under a title, as text.
  package func listing(under title: String) -> String { inspection(named: title).listing }
}

extension KeyedCenter: InspectedSource {
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    (keys.lists + [wide]).flatMap { $0.parts(held) }
  }
}

extension ObserverList {
  /// The key of the topic that the list belongs to, if it has one.
  ///
  /// Valid as `root` is.
  var topicKey: String? { (root as? TopicList)?.key }
}

extension ObserverRegistry.State {
  fileprivate func registrations(
    ownedBy owner: AnyObject, of key: String?, about name: SubjectName?
  ) -> [Registration] {
    var chosen: [Registration] = []
    for (id, list) in owners[ObjectIdentifier(owner)]?.all ?? [] {
      if let key, list.topicKey != key { continue }
      if let name, list.subject != name { continue }
      chosen.append(Registration(list: list, id: id, counters: nil))
    }
    return chosen
  }
}
