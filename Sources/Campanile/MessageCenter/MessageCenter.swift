/// A place to post messages, and to observe them by type.
///
/// ```swift
/// struct TrackChanged: MessageCenter.Message { var title: String }
///
/// let center = MessageCenter()
/// center.observe(TrackChanged.self, owner: screen, on: .main) { screen, message in
///   screen.title = message.title
/// }
/// center.post(TrackChanged(title: "Aria"))
/// ```
///
/// ## Behavior
///
/// A post reaches the observers that were registered when it began, of the message's type, about
/// its subject or about any, and of any message, in the order they registered. An observer that
/// registers during a post hears the next one; one that is ended before its turn is skipped.
///
/// All methods are safe from any thread and from inside an observer. No lock is held while an
/// observer runs or what it captured is released. A post that nobody hears costs a table look-up;
/// an immediate observer a few nanoseconds; neither takes a lock or allocates.
///
/// The observations of a center end with it, as if by ``finish()``.
public final class MessageCenter: Sendable {
  /// The name that descriptions give the center.
  public let label: String
  let registry: ObserverRegistry
  let topics: TopicTable
  /// Observers of any message.
  let wide: ObserverList
  /// The states that `latest(of:)` has made, by message type.
  let latestMessages = Locked<[ObjectIdentifier: any AnyObject & Sendable]>([:])

  /// Creates a center that nobody observes.
  ///
  /// - Parameter label: A name for descriptions.
  public convenience init(label: String = "") {
    self.init(label: label, registry: ObserverRegistry())
  }

  init(label: String, registry: ObserverRegistry) {
    self.label = label
    self.registry = registry
    topics = TopicTable()
    wide = ObserverList(
      registry: registry, topic: .init(value: (any Message).self, subject: nil))
  }

  deinit {
    end()
    registry.finishReports()
  }

  // MARK: Posting

  /// Posts a message that is about nothing in particular.
  ///
  /// When it returns, the immediate observers have been called, and the others will be. Observers
  /// of one subject do not hear it.
  public func post<M: Message>(_ message: M) {
    find(message, Post())
  }

  /// Posts a message about `subject`.
  ///
  /// The subject is compared by identity. It is kept only on the way to observers that are told it.
  public func post<M: Message>(_ message: M, about subject: M.Subject) {
    find(message, Post(subject: subject))
  }

  /// Posts a message that one registration does not hear.
  ///
  /// For an observer that says in one place what it hears in another, and is not to hear its own
  /// words. Posts that observers of this one make are heard by everybody.
  ///
  /// - Parameters:
  ///   - message: What is posted.
  ///   - registration: Not called for this post; one of another source, or one that has ended, makes
  ///     no difference.
  public func post<M: Message>(_ message: M, skipping registration: Registration) {
    findChecked(message, Post().skipping(registry.ownID(of: registration)))
  }

  /// Posts a message about `subject` that one registration does not hear.
  ///
  /// As ``post(_:skipping:)``.
  public func post<M: Message>(
    _ message: M, about subject: M.Subject, skipping registration: Registration
  ) {
    findChecked(message, Post(subject: subject).skipping(registry.ownID(of: registration)))
  }

  /// Posts a message and waits until every delivery of it has ended.
  ///
  /// A delivery has ended when the observer ran, or was skipped, canceled, dropped for want of
  /// room, or discarded with its owner or target. Inside an asynchronous observer it does not wait
  /// for that observer, nor for one that waits for the call in the same way, since neither could
  /// take another message before the call returns.
  ///
  /// - Throws: `CancellationError` if the task is canceled before that; the deliveries go on.
  public func postAndWait<M: Message>(_ message: M) async throws {
    try await postAndWait(message, Post())
  }

  /// Posts a message about `subject` and waits until every delivery of it has ended.
  ///
  /// As ``postAndWait(_:)``.
  public func postAndWait<M: Message>(_ message: M, about subject: M.Subject) async throws {
    try await postAndWait(message, Post(subject: subject))
  }

  private func postAndWait(_ message: some Message, _ post: Post) async throws {
    let tracker = DeliveryTracker()
    find(message, post.tracked(by: tracker))
    tracker.end()
    try await tracker.wait()
  }

  // MARK: Removing

  /// Ends one observation of this center, as ``Registration/cancel()`` does.
  ///
  /// An observation that has ended, or that is another source's, is left as it is.
  public func removeObserver(_ registration: Registration) {
    if registration.list.registry === registry { registration.cancel() }
  }

  /// Ends the observation that `token` keeps, if it is one of this center.
  public func removeObserver(_ token: ObservationToken) {
    removeObserver(token.registration)
  }

  /// Ends every observation that `owner` bounds.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    registry.endAll(ownedBy: owner) { _ in true }
  }

  /// Ends the observations of one message type that `owner` bounds, whatever they are about.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers<M: Message>(ownedBy owner: AnyObject, of type: M.Type) {
    registry.endAll(ownedBy: owner) { $0.topic.value == type }
  }

  /// Ends the observations of one message type about `subject` that `owner` bounds.
  ///
  /// Those about any subject stay.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers<M: Message>(
    ownedBy owner: AnyObject, of type: M.Type, about subject: M.Subject
  ) {
    guard let name = SubjectName(known: subject) else { return }
    withExtendedLifetime(subject) {
      registry.endAll(ownedBy: owner) { $0.topic.value == type && $0.topic.subject == name }
    }
  }

  /// Ends every observation and every sequence, and refuses those that come later.
  ///
  /// A post reaches nobody from then on, and deliveries that were queued are not made. A sequence
  /// still gives what had gathered before. An observation that comes later has ended at once. Calls
  /// that began on another thread may still be running when this method returns. A second call does
  /// nothing.
  ///
  /// The observers of ``events`` and ``failures`` stay until the center is released.
  ///
  /// The shared center, which is ``default`` outside `withDefault(_:operation:)`, cannot be
  /// finished: parts of the program that know nothing of the caller observe it. To finish it is a
  /// precondition failure.
  ///
  /// - Complexity: O(*n* log *n*) in the observations.
  public func finish() {
    precondition(
      self !== Self.shared,
      "The shared message center was finished, which every part of the program observes")
    end()
  }

  private func end() { registry.finish { topics.lists($0) + [wide] } }

  // MARK: Looking

  /// The live observations, oldest first, for debugging.
  ///
  /// - Complexity: O(*n* log *n*).
  public var registrations: [RegistrationDescription] {
    registry.describe { topics.lists($0) + [wide] }
  }

  /// Who would hear a message of this type, oldest first, which is the order of their calls where
  /// they run at the same place.
  ///
  /// ```swift
  /// for hearer in center.hearers(of: LevelChanged.self, about: player) { print(hearer) }
  /// ```
  ///
  /// Observers of any message are among them, and so are those that are paused, which would skip it.
  ///
  /// - Parameters:
  ///   - type: The type of the message.
  ///   - subject: What the message would be about. Without it, the observers of one subject are left
  ///     out.
  /// - Complexity: O(*n* log *n*) in the observations of that type, whatever they are about.
  public func hearers<M: Message>(
    of type: M.Type, about subject: M.Subject? = nil
  ) -> [RegistrationDescription] {
    let found = registry.describe { held in topics.lists(of: type, held) + [wide] }
    let subject = subject.map { ObjectIdentifier($0) }
    return found.filter { $0.subject == nil || $0.subject == subject }
  }

  /// How many observations have not ended.
  ///
  /// Those of an owner that has died do not count.
  public var observerCount: Int { registrations.count }
}

extension MessageCenter: CustomStringConvertible {
  /// The center's label and its live observations, a line each.
  public var description: String {
    let name = label.isEmpty ? "MessageCenter" : "MessageCenter \(label)"
    return registrations.reduce(name) { $0 + "\n  " + $1.description }
  }
}

/// The shared center.
extension MessageCenter {
  private static let shared = MessageCenter(label: "default")
  @TaskLocal private static var replacement: MessageCenter?

  /// The center that parts of a program share which were not given another.
  ///
  /// Inside `withDefault(_:operation:)` it is the replacement.
  public static var `default`: MessageCenter { replacement ?? shared }

  /// Runs `operation` with another default center, for a test that must not meet other tests.
  ///
  /// The replacement holds for the task that runs the operation and for the tasks made in it.
  /// Observers that run elsewhere than on the poster's thread do not see it.
  public static func withDefault<Result>(
    _ center: MessageCenter, operation: () throws -> Result
  ) rethrows -> Result {
    try $replacement.withValue(center, operation: operation)
  }

  /// Runs an asynchronous `operation` with another default center.
  public static func withDefault<Result>(
    _ center: MessageCenter, operation: () async throws -> Result
  ) async rethrows -> Result {
    try await $replacement.withValue(center, operation: operation)
  }
}
