import Synchronization

/// The lists of a center whose topics are keys: one for each key, and one for any key.
///
/// A dictionary under a lock has every topic. The topics that were found last are also in a small
/// table, by the words with which their keys were first observed. A post looks there first, without a
/// lock. A constant has the same words each time, so that a post under it mostly finds its topic there.
///
/// All lists have values of one type. `KeyedCenter` of CampanileFoundation sees to that.
package final class KeyTable: Sendable {
  /// Protected by the lock, which may be taken with the registry's lock held, never the other way.
  private struct State {
    var topics: [String: TopicList] = .init()
    var schedule = PurgeSchedule(from: 64)
  }

  let registry: ObserverRegistry
  /// The observers of any key.
  private let wildcard: TopicList
  private let state = Locked(State())
  /// The topics that were found last, by the numbers of their words; emptied when it is full.
  private let recent = AddressTable(for: 144)

  init(of valueType: any Any.Type, _ registry: ObserverRegistry) {
    self.registry = registry
    wildcard = TopicList(registry: registry, valueType: valueType)
  }

  package convenience init(of valueType: any Any.Type) {
    self.init(of: valueType, ObserverRegistry())
  }

  deinit {
    finish()
    registry.finishReports()
    recent.entries.deallocate()
  }

  /// Ends every observation, and refuses later ones.
  package func finish() { registry.finish(parts) }

  /// Every list, without its parts.
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    (state.withLock { Array($0.topics.values) } + [wildcard]).flatMap { $0.parts(held) }
  }

  /// Whether anybody observes `key`, or any key where that is `nil`.
  package func isObserved(_ key: String?) -> Bool {
    guard let key else { return wildcard.isObserved }
    return state.withLock { $0.topics[key]?.isObserved } ?? false
  }

  /// Whether a post under a key would reach an observer, or be reported.
  package func isHeard(_ key: String) -> Bool {
    isObserved(nil) || registry.isReporting || isObserved(key)
  }

  /// A registration that has ended.
  package var ended: Registration { wildcard.ended }

  /// The list for observers of `key`, or of any key if it is `nil`, about `name` or about any subject.
  @inline(never)
  func list(
    of key: String?, about name: SubjectName?, _ garbage: inout Garbage,
    _ held: borrowing ObserverRegistry.Held
  ) -> ObserverList {
    let topic = key.map { makeTopic(of: $0, &garbage, held) } ?? wildcard
    return if let name { topic.list(about: name, &garbage, held) } else { topic }
  }

  /// The topic of a key, made if there is none.
  ///
  /// - Parameter registryHeld: The registry's lock, so that no topic that is being filled is taken
  ///   for an empty one.
  private func makeTopic(
    of key: String, _ garbage: inout Garbage, _ registryHeld: borrowing ObserverRegistry.Held
  ) -> TopicList {
    var forgotten: [TopicList] = []
    let topic = state.withLock { state, held -> TopicList in
      if let topic = state.topics[key] { return topic }
      if state.schedule.isDue(state.topics.count) {
        // A registration that ended keeps its list.
        for (key, topic) in state.topics where !topic.isObserved {
          state.topics.put(nil, for: key)
          forget(topic, held)
          forgotten.append(topic)
        }
        state.schedule.note(state.topics.count)
      }
      let topic = TopicList(
        registry: registry, valueType: wildcard.valueType, key: key,
        created: registry.tick(registryHeld))
      state.topics.put(topic, for: key)
      return topic
    }
    // Posts in progress may have found them.
    for topic in forgotten { garbage.add(topic) }
    return topic
  }
}

/// Posting.
///
/// A post begins with the look-up of its recipients, and the look-up has left the stack before
/// observers are called, because they may post again.
extension KeyTable {
  /// Begins a post under a key, to its observers and to those of any key.
  ///
  /// - Returns: The lists that it may reach, or `nil` if there are no observers.
  package func recipients(of key: String) -> Recipients? {
    // Before the lists are read: an observer that registers after this is reached through none of them.
    let limit = registry.now
    let wildcard = wildcard.isObserved ? wildcard : nil
    if let recipients = recipients(of: key, wildcard: wildcard, limit) { return recipients }
    // A post that reaches no observer is an event all the same.
    return wildcard != nil || registry.isReporting
      ? Recipients(registry, nil, wildcard: wildcard, limit) : nil
  }

  /// Begins a post to the observers of a key alone, if there are any.
  package func recipients(ofOnly key: String) -> Recipients? {
    recipients(of: key, wildcard: nil, .max)
  }

  /// Begins a post to the observers of any key alone, if there are any.
  package var wildcardRecipients: Recipients? {
    wildcard.isObserved ? Recipients(registry, nil, wildcard: wildcard, .max) : nil
  }

  /// Posts a value to the recipients, and ends the post.
  package func post<Value>(
    _ value: Value, about subject: AnyObject?, to recipients: consuming Recipients
  ) {
    registry.post(value, WildcardValue.absent, Post(subject), to: recipients)
  }

  /// Posts a value that came through other centers, for ``Post/path``.
  ///
  /// Apart, because to hand an empty path on is a twentieth of a post.
  package func post<Value>(
    _ value: Value, about subject: AnyObject?, along path: [PathStep],
    to recipients: consuming Recipients
  ) {
    registry.post(value, WildcardValue.absent, Post(subject).along(path), to: recipients)
  }

  /// Begins a post under a key, if it has observers.
  ///
  /// - Parameters:
  ///   - wildcard: The observers of any key, if the post may reach some.
  ///   - limit: The newest registration that may be reached, from before `wildcard` was asked.
  @inline(__always)
  private func recipients(of key: String, wildcard: TopicList?, _ limit: UInt64) -> Recipients? {
    let identity = StringIdentity(key)
    // Only a hint: what is found is checked after the announcement. A post that finds nothing looks
    // under the lock that `makeTopic` has held.
    if let identity, let index = recent.index(of: identity.word) {
      let section = registry.enter(upTo: limit)
      // Pairs with `forget`: a post that the scan misses does not find the number again, unless another
      // topic has it. And with `remember`: the topic is complete.
      if recent.entries.number(at: index) == UInt64(identity.word) {
        // SAFETY: the address is that of a topic, which the section keeps.
        let topic = unsafe Unmanaged<TopicList>.fromOpaque(
          UnsafeRawPointer(bitPattern: recent.entries.address(at: index)).unsafelyUnwrapped)
        let isFound = unsafe topic._withUnsafeGuaranteedRef {
          $0.keyIdentity == identity && $0.isObserved
        }
        if isFound { return unsafe Recipients(registry, section, Topic(topic), wildcard: wildcard) }
      }
      registry.exit(section)
    }
    return recipientsUnderLock(of: key, identity, wildcard: wildcard, limit)
  }

  /// Looks in the dictionary.
  ///
  /// The section begins under the lock. A topic leaves the dictionary under the same lock, before the
  /// reservations are read: so the section keeps it.
  @inline(never)
  private func recipientsUnderLock(
    of key: String, _ identity: StringIdentity?, wildcard: TopicList?, _ limit: UInt64
  ) -> Recipients? {
    state.withLock { state, held in
      guard let topic = state.topics[key], topic.isObserved else { return nil }
      if let identity, topic.keyIdentity == identity { remember(topic, identity, held) }
      let section = registry.enter(upTo: limit)
      return unsafe Recipients(registry, section, Topic(.passUnretained(topic)), wildcard: wildcard)
    }
  }

  /// Puts a topic among those that were found last; one whose place it takes is in the dictionary.
  private func remember(
    _ topic: TopicList, _ identity: StringIdentity, _ held: borrowing Locked<State>.Held
  ) {
    let entries = recent.entries
    if let index = recent.index(of: identity.word) { recent.remove(at: index, held) }
    if !recent.hasRoom {
      for index in 0..<entries.capacity where entries.number(at: index) > 1 {
        recent.remove(at: index, held)
      }
    }
    recent.insert(identity.word, Self.address(of: topic), held)
  }

  /// Takes a topic from among those that were found last, before the reservations are read.
  private func forget(_ topic: TopicList, _ held: borrowing Locked<State>.Held) {
    guard let word = topic.keyIdentity?.word, let index = recent.index(of: word),
      recent.entries.address(at: index) == Self.address(of: topic)
    else { return }
    recent.remove(at: index, held)
  }

  private static func address(of topic: TopicList) -> UInt {
    unsafe UInt(bitPattern: Unmanaged.passUnretained(topic).toOpaque())
  }
}
