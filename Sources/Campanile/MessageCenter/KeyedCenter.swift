/// What a keyed center knows of its keys.
///
/// Protected by its lock, which may be taken with the registry's lock held, never the other way.
/// Outside the generic class, whose nested types would be looked up at each post.
private struct KeyedTopics {
  var topics: [String: TopicList] = [:]
  var purgeThreshold = 64
  /// The subjects of registrations for any key, which stand in the wide list.
  var wideSubjects: [UInt64: ObjectIdentifier] = [:]
  var widePurgeThreshold = 64
}

/// Values of one type under names that are known at run time, and about subjects: a message center
/// whose topics are strings instead of types.
///
/// The observers of one key and one subject, of one key, of any key and one subject, and of
/// everything stand in one order, that of their registration. What ``MessageCenter`` promises holds
/// here; a post takes a lock for the moment in which it looks its key up.
package final class KeyedCenter<Value: Sendable>: Sendable {
  /// What the observers of any key are given.
  private struct Posted: MessageCenter.Message {
    let value: Value
  }

  private let registry: ObserverRegistry
  private let wide: ObserverList
  /// What nothing is posted about.
  private let nobody: any AnyObject & Sendable = Nobody()
  private let state = Locked(KeyedTopics())

  /// Creates a center that nobody observes.
  package init(onError: (@Sendable (ObserverFailure) -> Void)? = nil) {
    registry = ObserverRegistry(onError: onError)
    wide = ObserverList(registry: registry, topic: .init(value: Value.self, subject: nil))
  }

  deinit { finish() }

  /// Ends every observation, and refuses those that come later.
  package func finish() {
    registry.finish { lists }
  }

  private var lists: [ObserverList] {
    state.withLock { $0.topics.values.map { $0 as ObserverList } } + [wide]
  }

  // MARK: Posting

  /// Posts a value under `key`, about `subject` if there is one, to all who observe.
  ///
  /// - Parameter value: Makes the value, if anybody is there who may hear it.
  package func post(to key: String, about subject: AnyObject?, _ value: () -> Value) {
    let topic = observedTopic(of: key)
    if topic == nil && wide.isEmpty { return }
    post(value(), subject.map { Post(subject: $0) } ?? Post(), to: topic, wide: wide)
  }

  /// Posts a value to the observers of `key` alone, without those of any key.
  ///
  /// - Returns: whether anybody observes the key.
  package func postNarrowly(
    to key: String, about subject: AnyObject?, _ value: () -> Value
  ) -> Bool {
    guard let topic = observedTopic(of: key) else { return false }
    post(value(), subject.map { Post(subject: $0) } ?? Post(), to: topic, wide: nil)
    return true
  }

  /// Posts a value to the observers of any key alone.
  ///
  /// - Returns: whether there are any.
  package func postWidely(about subject: AnyObject?, _ value: () -> Value) -> Bool {
    if wide.isEmpty { return false }
    post(value(), subject.map { Post(subject: $0) } ?? Post(), to: nil, wide: wide)
    return true
  }

  private func post(_ value: Value, _ post: Post, to topic: TopicList?, wide: ObserverList?) {
    let id = post.subjectID
    // The topic is kept here for as long as the post needs it.
    withExtendedLifetime(topic) {
      registry.post(value, post, to: topic, wide: wide) {
        WideValue(.init(message: Posted(value: value), subject: id))
      }
    }
  }

  /// The topic of a key, if it has observers.
  private func observedTopic(of key: String) -> TopicList? {
    guard let topic = state.withLock({ $0.topics[key] }) else { return nil }
    return topic.isEmpty && topic.subjects.isEmpty ? nil : topic
  }

  /// Whether anybody observes `key`, or any key where that is `nil`.
  package func isObserved(_ key: String?) -> Bool {
    guard let key else { return !wide.isEmpty }
    return observedTopic(of: key) != nil
  }

  // MARK: Registering

  /// Registers an observer of `key`, or of any key where that is `nil`, about `subject`, or about
  /// any where that was not given.
  ///
  /// - Returns: a registration that has ended if the subject has gone, or if the center has
  ///   finished.
  package func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<Value>, of key: String?,
    about given: AnyObject??, once: Bool
  ) -> Registration {
    var subject = given ?? nil
    if case .some(.none) = given {
      // Nothing comes about an instance that has gone. A sequence stays silent and ends with the
      // center: it waits for news of an instance that nobody can name.
      guard case .reader = body.kind else { return ended }
      subject = nobody
    }
    guard let key else { return registerWide(request, body, about: subject, once: once) }
    request.isOnce = once
    let registration = request.register(body, with: registry, subject: subject) { _ in
      let topic = makeTopic(of: key)
      return subject.map { .subject($0, topic) } ?? .list(topic)
    }
    return registration ?? ended
  }

  private func registerWide(
    _ request: borrowing ObservationRequest, _ body: ObserverBody<Value>,
    about subject: AnyObject?, once: Bool
  ) -> Registration {
    let wanted = subject.map { SubjectIdentity($0) }
    var mapped = body.mapped(once: once) { (posted: MessageCenter.PostedMessage) in
      if let wanted, posted.subject != wanted.id { return nil }
      // The wide list is given nothing else.
      return (posted.message as! Posted).value
    }
    if let wanted { mapped = mapped.taking { $0.subject == wanted.id } }
    let registration = request.register(mapped, with: registry, subject: subject) { _ in
      .list(wide)
    }
    guard let registration else { return ended }
    if let subject {
      purgeWideSubjects()
      state.withLock { $0.wideSubjects[registration.id] = ObjectIdentifier(subject) }
    }
    return registration
  }

  /// The topic of a key, made if there is none.
  ///
  /// Under the registry's lock, so that no topic that is being filled is taken for an empty one.
  private func makeTopic(of key: String) -> TopicList {
    state.withLock { state in
      if let topic = state.topics[key] { return topic }
      if state.topics.count >= state.purgeThreshold {
        // A registration that ended keeps its list, and a post its topic.
        state.topics = state.topics.filter { !$0.value.isEmpty || !$0.value.subjects.isEmpty }
        state.purgeThreshold = max(64, state.topics.count * 2)
      }
      let topic = TopicList(registry: registry, valueType: Value.self)
      state.topics[key] = topic
      return topic
    }
  }

  private func purgeWideSubjects() {
    let isDue = state.withLock { $0.wideSubjects.count >= $0.widePurgeThreshold }
    guard isDue else { return }
    let live = Set(registry.withState { _ in wide.registrations.map(\.registration.id) })
    state.withLock { state in
      // What was registered meanwhile has a greater identifier than any that was looked at.
      let newest = live.max() ?? 0
      state.wideSubjects = state.wideSubjects.filter { live.contains($0.key) || $0.key > newest }
      state.widePurgeThreshold = max(64, state.wideSubjects.count * 2)
    }
  }

  /// A registration that has ended.
  package var ended: Registration { Registration(list: wide, id: 0, counters: nil) }

  // MARK: Removing

  /// Ends one observation, if it is this center's.
  package func removeObserver(_ registration: Registration) {
    if registration.list.registry === registry { registration.cancel() }
  }

  /// Ends the observations that `owner` bounds, of `key` and about `subject` where those are given.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  package func removeObservers(
    ownedBy owner: AnyObject, of key: String? = nil, about subject: AnyObject? = nil
  ) {
    for registration in registrations(ownedBy: owner, of: key, about: subject) {
      registration.cancel()
    }
  }

  /// The observations that `owner` bounds, of `key` and about `subject` where those are given.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  package func registrations(
    ownedBy owner: AnyObject, of key: String? = nil, about subject: AnyObject? = nil
  ) -> [Registration] {
    let topic = key.map { key in state.withLock { $0.topics[key] } }
    if case .some(.none) = topic { return [] }
    let subject = subject.map { ObjectIdentifier($0) }
    let wideSubjects = subject == nil ? [:] : state.withLock { $0.wideSubjects }
    // Chosen under the lock: what a live registration stands in is there.
    let chosen = registry.withState { state in
      (state.owners[ObjectIdentifier(owner)]?.all ?? []).filter { id, list in
        if let topic, let topic, !topic.contains(list) { return false }
        return subject == nil || (list.topic.subject ?? wideSubjects[id]) == subject
      }
    }
    return chosen.map { Registration(list: $1, id: $0, counters: nil) }
  }

  // MARK: Looking

  /// The live observations, oldest first, with their keys as names.
  package var registrations: [RegistrationDescription] {
    var names: [UInt64: String] = [:]
    let described = registry.describe {
      // Under the lock: what a registration stands in may go after it.
      let topics = state.withLock { $0.topics }
      for (key, topic) in topics {
        for one in topic.registrations { names[one.registration.id] = key }
      }
      return topics.values.map { $0 as ObserverList } + [wide]
    }
    let wideSubjects = state.withLock { $0.wideSubjects }
    return described.map { description in
      var description = description
      let id = description.registration.id
      description.name = names[id]
      description.subject = description.subject ?? wideSubjects[id]
      return description
    }
  }
}

private final class Nobody: Sendable {}

extension ObserverList {
  /// What all lists of one topic have in common: their index by subject, or this list itself.
  ///
  /// Under the registry's lock.
  fileprivate var rootID: ObjectIdentifier {
    switch home {
    case .source:
      (self as? TopicList).map { ObjectIdentifier($0.subjects) } ?? ObjectIdentifier(self)
    case .list(let parent): parent.object.rootID
    case .index(let index): ObjectIdentifier(index.object)
    }
  }
}

extension TopicList {
  /// Whether `list` is one of this topic's, or a target's group in one of them.
  fileprivate func contains(_ list: ObserverList) -> Bool { list.rootID == rootID }
}
