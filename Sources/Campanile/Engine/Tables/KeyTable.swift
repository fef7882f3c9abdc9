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
  private let wide: TopicList
  private let state = Locked(State())
  /// Sets of four places, each on one cache line or two.
  private let recent = Entries(capacity: KeyTable.setCount * KeyTable.setSize, created: 0)

  private static var setCount: Int { 32 }
  private static var setSize: Int { 4 }

  init(of valueType: any Any.Type, _ registry: ObserverRegistry) {
    self.registry = registry
    wide = TopicList(registry: registry, valueType: valueType)
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
    (state.withLock { Array($0.topics.values) } + [wide]).flatMap { $0.parts(held) }
  }

  /// Whether anybody observes `key`, or any key where that is `nil`.
  package func isObserved(_ key: String?) -> Bool {
    guard let key else { return wide.isObserved }
    return state.withLock { $0.topics[key]?.isObserved } ?? false
  }

  /// Whether a post under a key would reach an observer, or be reported.
  package func isHeard(_ key: String) -> Bool {
    isObserved(nil) || registry.isWatched || isObserved(key)
  }

  /// A registration that has ended.
  package var ended: Registration { wide.ended }

  /// The list for observers of `key`, or of any key if it is `nil`, about `name` or about any subject.
  @inline(never)
  func list(
    of key: String?, about name: SubjectName?, _ garbage: inout Garbage,
    _ held: borrowing ObserverRegistry.Held
  ) -> ObserverList {
    let topic = key.map { makeTopic(of: $0, &garbage, held) } ?? wide
    return if let name { topic.list(about: name, &garbage, held) } else { topic }
  }

  /// The topic of a key, made if there is none.
  ///
  /// - Parameter registryHeld: The registry's lock, so that no topic that is being filled is taken
  ///   for an empty one.
  @_optimize(size)
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
        registry: registry, valueType: wide.valueType, key: key,
        created: registry.tick(registryHeld))
      state.topics.put(topic, for: key)
      return topic
    }
    // Posts in progress may have found them.
    for topic in forgotten { garbage.add(.init(structure: topic, since: topic.created)) }
    return topic
  }
}

/// Posting.
///
/// A post begins with the look-up of its audience, and the look-up has left the stack before observers
/// are called, because they may post again.
extension KeyTable {
  /// Begins a post under a key, to its observers and to those of any key.
  ///
  /// - Returns: The lists that it may reach, or `nil` if there are no observers.
  @inline(never)
  package func audience(of key: String) -> Audience? {
    // Before the lists are read: an observer that registers after this is reached through none of them.
    let limit = registry.now
    let wide = wide.isObserved ? wide : nil
    if let audience = audience(of: key, wide: wide, limit) { return audience }
    // A post that reaches no observer is an event all the same.
    return wide != nil || registry.isWatched ? Audience(registry, nil, wide: wide, limit) : nil
  }

  /// Begins a post to the observers of a key alone, if there are any.
  @inline(never)
  package func narrowAudience(of key: String) -> Audience? {
    audience(of: key, wide: nil, .max)
  }

  /// Begins a post to the observers of any key alone, if there are any.
  @inline(never)
  package var wideAudience: Audience? {
    wide.isObserved ? Audience(registry, nil, wide: wide, .max) : nil
  }

  /// Posts a value to an audience, and ends the post.
  @inline(never)
  package func post<Value>(
    _ value: Value, about subject: AnyObject?, to audience: consuming Audience
  ) {
    registry.post(value, WideValue.absent, Post(subject), to: audience)
  }

  /// Posts a value that came through other centers, which are in ``Post/path``.
  package func post<Value>(
    _ value: Value, about subject: AnyObject?, along path: [PathStep],
    to audience: consuming Audience
  ) {
    registry.post(value, WideValue.absent, Post(subject).along(path), to: audience)
  }

  /// Begins a post under a key, if it has observers.
  ///
  /// - Parameters:
  ///   - wide: The observers of any key, if the post may reach some.
  ///   - limit: The newest registration that may be reached, from before `wide` was asked.
  @inline(__always)
  private func audience(of key: String, wide: TopicList?, _ limit: UInt64) -> Audience? {
    let identity = StringIdentity(key)
    if let identity, let place = place(of: identity) {
      let section = registry.enter(upTo: limit)
      // Pairs with `forget`: a post that the scan misses finds nothing. And with `remember`: the topic
      // is complete.
      let address = unsafe recent.base[place].address.load(ordering: .acquiring)
      // SAFETY: the address is that of a topic, which the section keeps.
      if let topic = unsafe Self.topic(at: address) {
        let isFound = unsafe topic._withUnsafeGuaranteedRef {
          $0.keyIdentity == identity && $0.isObserved
        }
        if isFound { return unsafe Audience(registry, section, Topic(topic), wide: wide) }
      }
      registry.exit(section)
    }
    return audienceUnderLock(of: key, identity, wide: wide, limit)
  }

  private static func topic(at address: UInt) -> Unmanaged<TopicList>? {
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    return unsafe Unmanaged.fromOpaque(pointer)
  }

  /// The first place of the set for a number.
  @inline(__always)
  private static func set(for number: UInt64) -> Int {
    Int(truncatingIfNeeded: number >> 59) &* setSize
  }

  /// The place of a topic that may be the one with this identity.
  @inline(__always)
  private func place(of identity: StringIdentity) -> Int? {
    let number = identity.number
    let set = Self.set(for: number)
    for place in set..<set &+ Self.setSize {
      // SAFETY: there are 32 sets, and five bits choose one.
      // Pairs with `remember` and `forget`, and is only a hint: what is found is checked after the
      // announcement. A post that finds nothing looks under the lock that `makeTopic` has held.
      let found = unsafe recent.base[place].number.load(ordering: .acquiring)
      if found == number { return place }
    }
    return nil
  }

  /// Looks in the dictionary.
  ///
  /// The section begins under the lock. A topic leaves the dictionary under the same lock, before the
  /// reservations are read: so the section keeps it.
  @inline(never)
  private func audienceUnderLock(
    of key: String, _ identity: StringIdentity?, wide: TopicList?, _ limit: UInt64
  ) -> Audience? {
    state.withLock { state, held in
      guard let topic = state.topics[key], topic.isObserved else { return nil }
      if let identity, topic.keyIdentity == identity { remember(topic, identity, held) }
      let section = registry.enter(upTo: limit)
      return unsafe Audience(registry, section, Topic(.passUnretained(topic)), wide: wide)
    }
  }

  /// Puts a topic among those that were found last.
  private func remember(
    _ topic: TopicList, _ identity: StringIdentity, _ held: borrowing Locked<State>.Held
  ) {
    let number = identity.number
    let set = Self.set(for: number)
    let places = set..<set + Self.setSize
    // The place of another topic is taken by turns.
    let place =
      places.first { recent.number(at: $0) == number }
      ?? places.first { recent.number(at: $0) == 0 } ?? set + Int(number >> 2) % Self.setSize
    let address = unsafe UInt(bitPattern: Unmanaged.passUnretained(topic).toOpaque())
    // SAFETY: as in `place`.
    // Pairs with `enter`: the topic is complete. One that had this place is still in the dictionary.
    unsafe recent.base[place].address.store(address, ordering: .releasing)
    // Pairs with `place`.
    unsafe recent.base[place].number.store(number, ordering: .releasing)
  }

  /// Takes a topic from among those that were found last, before the reservations are read.
  private func forget(_ topic: TopicList, _ held: borrowing Locked<State>.Held) {
    guard let identity = topic.keyIdentity else { return }
    let address = unsafe UInt(bitPattern: Unmanaged.passUnretained(topic).toOpaque())
    let set = Self.set(for: identity.number)
    for place in set..<set + Self.setSize where recent.address(at: place) == address {
      // SAFETY: as in `place`.
      // Pairs with `enter`: before `storeClockAgain`, so that a post the scan misses finds nothing.
      unsafe recent.base[place].address.store(0, ordering: .releasing)
      // Pairs with `place`.
      unsafe recent.base[place].number.store(0, ordering: .releasing)
    }
  }
}
