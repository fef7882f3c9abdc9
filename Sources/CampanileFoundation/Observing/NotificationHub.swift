import Campanile
import Foundation
import Synchronization

/// What this package knows of one Foundation center: one source, and what feeds it.
///
/// There is one block observer in the Foundation center for each name that is observed here,
/// whatever its object, and one for all names if somebody wants that. It feeds the source, from
/// which order, ends, owners and deliveries come. The block keeps the hub: the hub lives as long as
/// anybody observes here, and dies with the center.
final class NotificationHub: Sendable {
  /// A block observer in the center.
  private final class Feed: Sendable {
    let name: Notification.Name?
    /// Whether what comes through this feed counts.
    ///
    /// It does while the feed is its name's. A post may come through others too, which came second
    /// or are on their way out.
    let isOpen = Atomic<Bool>(false)
    /// Whether somebody may want notifications of the name decoded.
    let hasCodecs = Atomic<Bool>(false)

    init(name: Notification.Name?) { self.name = name }
  }

  private typealias Codecs = WeakTable<ObjectIdentifier, NotificationCodec>

  /// Protected by the lock, with which the center is never called.
  private struct State {
    var feeds: [Notification.Name?: (feed: Feed, token: any NSObjectProtocol)] = [:]
    var purgeThreshold = 64
    var codecs: [Notification.Name: Codecs] = [:]
  }

  private static let table = Locked(WeakTable<ObjectIdentifier, NotificationHub>())

  let topics = KeyedCenter<PostedNotification>()
  private weak let center: NotificationCenter?
  private let state = Locked(State())

  private init(_ center: NotificationCenter) { self.center = center }

  /// The hub of a center, made if there is none.
  static func of(_ center: NotificationCenter) -> NotificationHub {
    if let hub = existing(center) { return hub }
    let new = NotificationHub(center)
    // What was looked at goes outside the lock: to look may be to hold it last.
    let (hub, seen) = table.withLock { table -> (NotificationHub, [NotificationHub]) in
      let id = ObjectIdentifier(center)
      let known = table[id]
      // The address may have been another center's.
      if let known, known.isHub(of: center) { return (known, []) }
      return (new, table.insert(new, for: id) + [known].compactMap { $0 })
    }
    withExtendedLifetime(seen) {}
    return hub
  }

  /// Whether this is the center's hub; `center` lives, so that to look cannot be to hold it last.
  private func isHub(of center: NotificationCenter) -> Bool { self.center === center }

  /// The hub of a center, if anybody observes it here.
  static func existing(_ center: NotificationCenter) -> NotificationHub? {
    // Compared outside the lock: the hub may be held here last.
    let hub = table.withLock { $0[ObjectIdentifier(center)] }
    return hub?.isHub(of: center) == true ? hub : nil
  }

  /// Registers an observer; when this returns, later posts of the center come to it.
  func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, about object: AnyObject??, once: Bool
  ) -> Registration {
    let registration = topics.register(
      request, body, of: name?.rawValue, about: object, once: once)
    if registration.isActive { feed(name) }
    return registration
  }

  /// The codec that decodes for everybody who wants what `codec` decodes.
  ///
  /// It decodes for as long as somebody keeps it.
  func share(_ codec: NotificationCodec, of name: Notification.Name) -> NotificationCodec {
    let (shared, seen) = state.withLock { state -> (NotificationCodec, [NotificationCodec]) in
      if let shared = state.codecs[name]?[codec.id] { return (shared, []) }
      state.feeds[name]?.feed.hasCodecs.store(true, ordering: .releasing)
      let seen = state.codecs[name, default: Codecs(purgingFrom: 8)].insert(codec, for: codec.id)
      return (codec, seen)
    }
    withExtendedLifetime(seen) {}
    return shared
  }

  /// How many codecs of a name are remembered, those included that have gone unnoticed.
  func codecCount(of name: Notification.Name) -> Int {
    state.withLock { $0.codecs[name]?.count ?? 0 }
  }

  /// Whether posts of a name are looked at for somebody who wants them decoded.
  func decodes(_ name: Notification.Name) -> Bool {
    state.withLock { $0.feeds[name]?.feed.hasCodecs.load(ordering: .relaxed) ?? false }
  }

  /// How many blocks this hub has in its center.
  var feedCount: Int { state.withLock { $0.feeds.count } }

  // MARK: Feeding

  /// Makes sure that posts under `name` come here.
  private func feed(_ name: Notification.Name?) {
    guard state.withLock({ $0.feeds[name] == nil }), let center else { return }
    // The center is asked outside the lock, since it may be somebody's subclass. Others may do the
    // same meanwhile; the first one to come back has the name.
    let feed = Feed(name: name)
    let token = center.addObserver(forName: name, object: nil, queue: nil) {
      [self] notification in receive(notification, from: feed)
    }
    let unneeded = state.withLock { state -> Unneeded in
      if state.feeds[name] != nil { return Unneeded(tokens: [token]) }
      let unneeded = purge(&state)
      let hasCodecs = name.map { state.codecs[$0] != nil } ?? false
      feed.hasCodecs.store(hasCodecs, ordering: .relaxed)
      state.feeds[name] = (feed, token)
      feed.isOpen.store(true, ordering: .releasing)
      return unneeded
    }
    for token in unneeded.tokens { center.removeObserver(token) }
  }

  /// What a change under the lock leaves over, to be removed and released outside it.
  private struct Unneeded {
    var tokens: [any NSObjectProtocol] = []
    /// Codecs that were looked at: to look may be to hold one last.
    var codecs: [NotificationCodec] = []
  }

  /// Takes out the feeds that nobody needs, once in a while; the others go at their next post.
  private func purge(_ state: inout State) -> Unneeded {
    var unneeded = Unneeded()
    guard state.feeds.count >= state.purgeThreshold else { return unneeded }
    for name in Array(state.feeds.keys) where !topics.isObserved(name?.rawValue) {
      forget(name, &state, &unneeded)
    }
    state.purgeThreshold = max(64, state.feeds.count * 2)
    return unneeded
  }

  private func forget(
    _ name: Notification.Name?, _ state: inout State, _ unneeded: inout Unneeded
  ) {
    if let known = state.feeds.removeValue(forKey: name) {
      known.feed.isOpen.store(false, ordering: .releasing)
      unneeded.tokens.append(known.token)
    }
    if let name { unneeded.codecs += livingCodecs(of: name, &state) }
  }

  /// The codecs of a name that somebody keeps; the others are forgotten.
  private func livingCodecs(
    of name: Notification.Name, _ state: inout State
  ) -> [NotificationCodec] {
    guard let living = state.codecs[name]?.purge() else { return [] }
    if living.isEmpty {
      state.codecs[name] = nil
      state.feeds[name]?.feed.hasCodecs.store(false, ordering: .releasing)
    }
    return living
  }

  /// Called by the center, on the thread that posts.
  private func receive(_ notification: Notification, from feed: Feed) {
    #if TSAN
      // What Foundation's lock orders, Thread Sanitizer does not see: that this hub was made before.
      Self.table.withLock { _ in }
    #endif
    guard feed.isOpen.load(ordering: .acquiring) else { return }
    let isHeard: Bool
    if let name = feed.name {
      isHeard = topics.postNarrowly(to: name.rawValue, about: notification.subject) {
        let hasCodecs = feed.hasCodecs.load(ordering: .acquiring)
        return PostedNotification(
          notification, decoded: hasCodecs ? decode(notification, name) : [:])
      }
    } else {
      isHeard = topics.postWidely(about: notification.subject) { PostedNotification(notification) }
    }
    if !isHeard { stopUnlessNeeded(feed) }
  }

  /// What everybody wants decoded of a notification.
  private func decode(
    _ notification: Notification, _ name: Notification.Name
  ) -> [ObjectIdentifier: Result<any Sendable, any Error>] {
    let codecs = state.withLock { livingCodecs(of: name, &$0) }
    var decoded: [ObjectIdentifier: Result<any Sendable, any Error>] = [:]
    for codec in codecs { decoded[codec.id] = codec.decode(notification) }
    return decoded
  }

  /// Takes a feed out that nobody needs any more.
  private func stopUnlessNeeded(_ feed: Feed) {
    let unneeded = state.withLock { state -> Unneeded in
      var unneeded = Unneeded()
      guard let known = state.feeds[feed.name], known.feed === feed,
        !topics.isObserved(feed.name?.rawValue)
      else { return unneeded }
      forget(feed.name, &state, &unneeded)
      return unneeded
    }
    for token in unneeded.tokens { center?.removeObserver(token) }
  }
}
