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
  package func finish() { registry.finish { _ in lists } }

  var lists: [ObserverList] {
    state.withLock { $0.topics.values.map { $0 as ObserverList } } + [wide]
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
  package var ended: Registration { Registration(list: wide, id: 0, counters: nil) }

  /// The list for observers of `key`, or of any key if it is `nil`, about `name` or about any subject.
  @inline(never)
  func destination(
    of key: String?, about name: SubjectName?, _ garbage: inout Garbage,
    _ held: borrowing ObserverRegistry.Held
  ) -> Destination {
    let topic = key.map { makeTopic(of: $0, &garbage, held) } ?? wide
    return topic.destination(about: name, &garbage, held)
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
  package func audience(of key: String) -> KeyedAudience? {
    // Before the lists are read: an observer that registers after this is reached through none of them.
    let limit = registry.now
    let wide = wide.isObserved ? wide : nil
    if let audience = audience(of: key, wide: wide, limit) { return audience }
    // A post that reaches no observer is an event all the same.
    return wide != nil || registry.isWatched ? KeyedAudience(registry, wide: wide, limit) : nil
  }

  /// Begins a post to the observers of a key alone, if there are any.
  @inline(never)
  package func narrowAudience(of key: String) -> KeyedAudience? {
    audience(of: key, wide: nil, .max)
  }

  /// Begins a post to the observers of any key alone, if there are any.
  @inline(never)
  package var wideAudience: KeyedAudience? {
    wide.isObserved ? KeyedAudience(registry, wide: wide, .max) : nil
  }

  /// Posts a value to an audience, and ends the post.
  @inline(never)
  package func post<Value>(
    _ value: Value, about subject: AnyObject?, to audience: consuming KeyedAudience
  ) {
    registry.post(value, about: subject, to: audience)
  }

  /// Posts a value that came through other centers, which are in ``Post/path``.
  package func post<Value>(
    _ value: Value, about subject: AnyObject?, along path: [PathStep],
    to audience: consuming KeyedAudience
  ) {
    registry.post(value, Post(subject).along(path), to: audience)
  }

  /// Begins a post under a key, if it has observers.
  ///
  /// - Parameters:
  ///   - wide: The observers of any key, if the post may reach some.
  ///   - limit: The newest registration that may be reached, from before `wide` was asked.
  @inline(__always)
  private func audience(of key: String, wide: TopicList?, _ limit: UInt64) -> KeyedAudience? {
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
        if isFound { return unsafe KeyedAudience(registry, section, topic, wide: wide) }
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
  ) -> KeyedAudience? {
    state.withLock { state, held in
      guard let topic = state.topics[key], topic.isObserved else { return nil }
      if let identity, topic.keyIdentity == identity { remember(topic, identity, held) }
      let section = registry.enter(upTo: limit)
      return unsafe KeyedAudience(registry, section, .passUnretained(topic), wide: wide)
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

/// A post in progress, and the lists that it may reach.
///
/// The post ends, and the lists may be released, when this value is.
@safe package struct KeyedAudience: ~Copyable {
  // SAFETY: the center keeps its registry and the list of the observers of any key, and the poster
  // keeps the center. The section keeps the topic.
  fileprivate let registry: Unmanaged<ObserverRegistry>
  fileprivate let section: ObserverRegistry.CriticalSection
  fileprivate let topic: Unmanaged<TopicList>?
  fileprivate let wide: Unmanaged<TopicList>?

  /// The audience of a post that has begun.
  fileprivate init(
    _ registry: ObserverRegistry, _ section: ObserverRegistry.CriticalSection,
    _ topic: Unmanaged<TopicList>?, wide: TopicList?
  ) {
    unsafe self.registry = Unmanaged.passUnretained(registry)
    self.section = section
    unsafe self.topic = unsafe topic
    unsafe self.wide = unsafe wide.map { unsafe Unmanaged.passUnretained($0) }
  }

  /// Begins a post that reaches no observers of a key.
  fileprivate init(_ registry: ObserverRegistry, wide: TopicList?, _ limit: UInt64) {
    unsafe self.init(registry, registry.enter(upTo: limit), nil, wide: wide)
  }

  deinit { unsafe registry._withUnsafeGuaranteedRef { $0.exit(section) } }
}

extension ObserverRegistry {
  /// Posts to the observers of one topic and to those of any topic, which all receive the value.
  ///
  /// An observer may post again, and so on, and each level takes a part of the stack. So whatever
  /// finds the observers has left the stack before they are called.
  @inline(__always)
  fileprivate func post<Value>(
    _ value: Value, about subject: AnyObject?, to audience: borrowing KeyedAudience
  ) {
    if isWatched { return postWatched(value, Post(subject), audience) }
    let count =
      unsafe Self.listCount(audience.topic, subject)
      + Self.listCount(audience.wide, subject)
    if count == 1 {
      postToOne(value, subject, audience)
    } else if count > 1 {
      postAlongRoute(value, subject, audience)
    }
  }

  /// Posts with details.
  fileprivate func post<Value>(
    _ value: Value, _ post: borrowing Post, to audience: borrowing KeyedAudience
  ) {
    if isWatched { return postWatched(value, post, audience) }
    postAlongAnyRoute(value, post, audience, .everyone)
  }

  /// Posts, and reports the post and each call.
  @inline(never)
  private func postWatched<Value>(
    _ value: Value, _ post: borrowing Post, _ audience: borrowing KeyedAudience
  ) {
    let name = (value as? any EventNaming)?.eventName
    // The observers of the events may take long: later structures are not held for them.
    settle(audience.section)
    let post = notePosted(value, of: Value.self, name: name, post)
    reopen(audience.section)
    postAlongAnyRoute(value, post, audience, .everyoneChecked)
    notePostReturned(Value.self, post)
  }

  /// Posts where one list may be reached, and takes little of the stack.
  @inline(never)
  private func postToOne<Value>(
    _ value: Value, _ subject: AnyObject?, _ audience: borrowing KeyedAudience
  ) {
    guard let only = onlyCursor(subject, audience) else {
      // An observer waits for the value elsewhere, or there are several lists now.
      return postAlongRoute(value, subject, audience)
    }
    settle(audience.section)
    walk(value, Post(subject), 0...audience.section.watermark, .everyone, only)
  }

  /// The reach is a constant here, for which the stack needs no room.
  @inline(never)
  private func postAlongRoute<Value>(
    _ value: Value, _ subject: AnyObject?, _ audience: borrowing KeyedAudience
  ) {
    postAlongRoute(value, Post(subject), audience, .everyone)
  }

  /// Posts along a route, in code that the rare posts share.
  @inline(never)
  private func postAlongAnyRoute<Value>(
    _ value: Value, _ post: borrowing Post, _ audience: borrowing KeyedAudience,
    _ portion: Portion
  ) {
    postAlongRoute(value, post, audience, portion)
  }

  @inline(__always)
  private func postAlongRoute<Value>(
    _ value: Value, _ post: borrowing Post, _ audience: borrowing KeyedAudience,
    _ portion: Portion
  ) {
    let section = audience.section
    var route = Route()
    find(post.subjectID, audience, &route)
    if route.hasGroups {
      postToTargets(value, WideValue.absent, post, section.watermark, portion, &route, section)
    } else {
      settle(section)
      mergeInPlace(value, WideValue.absent, post, 0...section.watermark, portion, &route)
    }
  }

  @inline(never)
  private func onlyCursor(
    _ subject: AnyObject?, _ audience: borrowing KeyedAudience
  ) -> Cursor? {
    // The most frequent post, in the fewest steps.
    if subject == nil, unsafe audience.wide == nil, let topic = unsafe audience.topic {
      // SAFETY: a topic is a list, and the audience keeps it.
      let cursor = unsafe Cursor(Unmanaged.fromOpaque(topic.toOpaque()))
      return cursor.hasGroups ? nil : cursor
    }
    var route = Route()
    find(subject.map { ObjectIdentifier($0) }, audience, &route)
    return route.hasGroups ? nil : route.only
  }

  @inline(never)
  private func find(
    _ subject: ObjectIdentifier?, _ audience: borrowing KeyedAudience, _ route: inout Route
  ) {
    // SAFETY: the audience keeps both.
    unsafe audience.topic?._withUnsafeGuaranteedRef { route.find(subject, in: $0) }
    // SAFETY: the same.
    unsafe audience.wide?._withUnsafeGuaranteedRef { route.findWide(subject, in: $0) }
  }

  /// How many lists a post may find in a topic: the topic itself, and the list of the post's subject.
  @inline(__always)
  private static func listCount(_ topic: Unmanaged<TopicList>?, _ subject: AnyObject?) -> Int {
    // SAFETY: the audience keeps the topic.
    unsafe topic?._withUnsafeGuaranteedRef {
      ($0.isEmpty ? 0 : 1) + (subject != nil && $0.hasSubjects ? 1 : 0)
    } ?? 0
  }
}

/// A value with a name that says more than its type.
package protocol EventNaming {
  /// The name of the value in events.
  var eventName: String { get }
}
