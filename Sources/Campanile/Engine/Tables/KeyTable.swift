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
  /// Sets of four slots, each on one cache line or two.
  private let recent = Entries(capacity: KeyTable.setCount * KeyTable.setSize, created: 0)

  private static var setCount: Int { 32 }
  private static var setSize: Int { 4 }

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
    recent.deallocate()
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
  ///
  /// - Parameter path: The centers that the value came through, for ``Post/path``.
  package func post<Value>(
    _ value: Value, about subject: AnyObject?, along path: [PathStep] = [],
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
    if let identity, let slot = slot(of: identity) {
      let section = registry.enter(upTo: limit)
      // Pairs with `forget`: a post that the scan misses finds nothing. And with `remember`: the topic
      // is complete.
      let address = unsafe recent.base[slot].address.load(ordering: .acquiring)
      // SAFETY: the address is that of a topic, which the section keeps.
      if let topic = unsafe Self.topic(at: address) {
        let isFound = unsafe topic._withUnsafeGuaranteedRef {
          $0.keyIdentity == identity && $0.isObserved
        }
        if isFound { return unsafe Recipients(registry, section, Topic(topic), wildcard: wildcard) }
      }
      registry.exit(section)
    }
    return recipientsUnderLock(of: key, identity, wildcard: wildcard, limit)
  }

  private static func topic(at address: UInt) -> Unmanaged<TopicList>? {
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    return unsafe Unmanaged.fromOpaque(pointer)
  }

  /// The first slot of the set for a number.
  private static func set(for number: UInt64) -> Int {
    Int(truncatingIfNeeded: number >> 59) &* setSize
  }

  /// The slot of a topic that may be the one with this identity.
  @inline(__always)
  private func slot(of identity: StringIdentity) -> Int? {
    let number = identity.number
    let set = Self.set(for: number)
    for slot in set..<set &+ Self.setSize {
      // SAFETY: there are 32 sets, and five bits choose one.
      // Pairs with `remember` and `forget`, and is only a hint: what is found is checked after the
      // announcement. A post that finds nothing looks under the lock that `makeTopic` has held.
      let found = unsafe recent.base[slot].number.load(ordering: .acquiring)
      if found == number { return slot }
    }
    return nil
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

  /// Puts a topic among those that were found last.
  private func remember(
    _ topic: TopicList, _ identity: StringIdentity, _ held: borrowing Locked<State>.Held
  ) {
    let number = identity.number
    let set = Self.set(for: number)
    let slots = set..<set + Self.setSize
    // The slot of another topic is taken by turns.
    let slot =
      slots.first { recent.number(at: $0) == number }
      ?? slots.first { recent.number(at: $0) == 0 } ?? set + Int(number >> 2) % Self.setSize
    let address = unsafe UInt(bitPattern: Unmanaged.passUnretained(topic).toOpaque())
    // SAFETY: as in `slot`.
    // Pairs with `enter`: the topic is complete. One that had this slot is still in the dictionary.
    unsafe recent.base[slot].address.store(address, ordering: .releasing)
    // Pairs with `slot`.
    unsafe recent.base[slot].number.store(number, ordering: .releasing)
  }

  /// Takes a topic from among those that were found last, before the reservations are read.
  private func forget(_ topic: TopicList, _ held: borrowing Locked<State>.Held) {
    guard let identity = topic.keyIdentity else { return }
    let address = unsafe UInt(bitPattern: Unmanaged.passUnretained(topic).toOpaque())
    let set = Self.set(for: identity.number)
    for slot in set..<set + Self.setSize where recent.address(at: slot) == address {
      // SAFETY: as in `slot`.
      // Pairs with `enter`: before `storeClockAgain`, so that a post the scan misses finds nothing.
      unsafe recent.base[slot].address.store(0, ordering: .releasing)
      // Pairs with `slot`.
      unsafe recent.base[slot].number.store(0, ordering: .releasing)
    }
  }
}
