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
/// A post reaches the observers of the message's type, about its subject or about any, and the
/// observers of any message, if they were registered when it began. An observer that registers
/// during a post receives the next one, and an observer that ends before its turn is skipped.
/// Observers of one place, the posting thread or one target, are called in the order in which they
/// registered, unless they are asynchronous or bounded. An immediate observer may be called by
/// several threads at once, if they post at once. If an observer throws, the ``failures`` report the
/// error, and the other observers are still called.
///
/// All methods are safe from any thread and from inside an observer, because no lock is held while
/// an observer runs, or while its captured values are released.
///
/// A post without observers costs a table look-up, and each immediate observer costs a few
/// nanoseconds. An observer with an owner costs about 14, because its call retains and releases the
/// owner, so two threads that post to one owner write one reference count. Such posts take no lock
/// and allocate nothing, with three exceptions: the first post of a thread may do both, a message
/// larger than 24 bytes is allocated while ``anyMessage`` is observed, and a post takes a lock if a
/// registration that it may hold ended during the post.
///
/// The observations of a center end with it, as if by ``finish()``.
public final class MessageCenter: Sendable {
  /// The name of the center in descriptions.
  public let label: String
  let registry: ObserverRegistry
  let topics: TopicTable
  /// Observers of any message.
  let wildcard: TopicList
  /// The states that `latest(of:)` has made, by message type.
  let latestMessages = Locked<[ObjectIdentifier: any AnyObject & Sendable]>(.init())

  /// Creates a center without observers, with a name for descriptions.
  public convenience init(label: String = "") {
    self.init(label: label, registry: ObserverRegistry())
  }

  init(label: String, registry: ObserverRegistry) {
    self.label = label
    self.registry = registry
    topics = TopicTable()
    wildcard = TopicList(registry: registry, valueType: (any Message).self)
  }

  deinit {
    end()
    registry.finishReports()
  }

  // MARK: Removing

  /// Ends every observation that `owner` owns.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    registry.endAll(ownedBy: owner)
  }

  /// Ends the observations of one message type that `owner` owns, about any subject or none.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers<M: Message>(ownedBy owner: AnyObject, of type: M.Type) {
    registry.endAll(ownedBy: owner, of: type)
  }

  /// Ends the observations of one message type about `subject` that `owner` owns.
  ///
  /// Observations that are not limited to one subject stay.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers<M: Message>(
    ownedBy owner: AnyObject, of type: M.Type, about subject: M.Subject
  ) {
    registry.endAll(ownedBy: owner, of: type, about: subject)
  }

  /// Ends every observation and every sequence, and refuses later ones.
  ///
  /// From then on a post reaches no observer, queued deliveries are not made, and a later
  /// observation ends at once. A sequence still returns the messages that it had stored. Calls that
  /// began on another thread may still be running when this method returns. A second call does
  /// nothing.
  ///
  /// The observers of ``Traceable/events`` and ``failures`` stay until the center is released.
  ///
  /// The shared center, which is ``default`` outside `withDefault(_:operation:)`, cannot be
  /// finished, because unrelated parts of the program observe it: to do so is a precondition
  /// failure.
  ///
  /// - Complexity: O(*n* log *n*) in the observations.
  public func finish() {
    require(
      self !== Self.shared,
      "The shared message center was finished, which every part of the program observes")
    end()
  }

  @inline(never)
  private func end() { registry.finish(parts) }
}

/// The shared center.
extension MessageCenter {
  private static let shared = MessageCenter(label: "default")
  @TaskLocal private static var replacement: MessageCenter?

  /// The shared center, for parts of a program that were not given another one.
  ///
  /// Inside `withDefault(_:operation:)` it is the replacement.
  public static var `default`: MessageCenter { replacement ?? shared }

  /// Runs `operation` with another default center, which isolates a test from other tests.
  ///
  /// The replacement applies to the task that runs the operation, and to the child tasks and
  /// unstructured tasks (`Task { }`) that it makes. A detached task, a block on a queue, a thread
  /// that it begins, and observers that do not run on the poster's thread use the shared center.
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
