import Campanile
import Foundation
import Synchronization

/// What this package knows of one Foundation center: one source, and what feeds it.
///
/// There is one block observer in the Foundation center for each name that is observed here, whatever
/// its object, and one for all names if somebody wants that. It feeds the source, from which order,
/// ends, owners and deliveries come. The block keeps the hub: the hub lives as long as anybody is
/// observed, and dies with the center.
final class NotificationHub: Sendable {
  /// A block observer in the center.
  private final class Feed: Sendable {
    let name: Notification.Name?
    /// Whether the feed was taken out; a post that began before may still come through it.
    let isOut = Atomic<Bool>(false)
    /// Whether somebody has wanted notifications of the name decoded.
    let hasCodecs = Atomic<Bool>(false)

    init(name: Notification.Name?, hasCodecs: Bool) {
      self.name = name
      self.hasCodecs.store(hasCodecs, ordering: .relaxed)
    }
  }

  /// Protected by the lock, with which the center may be given and asked for block observers: that
  /// runs nobody's code.
  private struct State {
    var feeds: [Notification.Name?: (feed: Feed, token: any NSObjectProtocol)] = [:]
    var purgeThreshold = 64
    var codecs: [Notification.Name: [ObjectIdentifier: WeakCodec]] = [:]
  }

  private struct WeakCodec {
    weak var codec: (any NotificationDecoding)?
  }

  private struct Known {
    weak var hub: NotificationHub?
  }

  private struct Table {
    var known: [ObjectIdentifier: Known] = [:]
    var purgeThreshold = 64
  }

  private static let table = Locked(Table())

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
      var seen: [NotificationHub] = []
      if let hub = table.known[id]?.hub {
        // The address may have been another center's.
        if hub.center === center { return (hub, []) }
        seen.append(hub)
      }
      if table.known.count >= table.purgeThreshold {
        table.known = table.known.filter { known in
          guard let hub = known.value.hub else { return false }
          seen.append(hub)
          return true
        }
        table.purgeThreshold = max(64, table.known.count * 2)
      }
      table.known[id] = Known(hub: new)
      return (new, seen)
    }
    withExtendedLifetime(seen) {}
    return hub
  }

  /// The hub of a center, if anybody observes it here.
  static func existing(_ center: NotificationCenter) -> NotificationHub? {
    // Compared outside the lock: the hub may be held here last.
    let hub = table.withLock { $0.known[ObjectIdentifier(center)]?.hub }
    return hub?.center === center ? hub : nil
  }

  /// Registers an observer; when this returns, later posts of the center come to it.
  func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, about object: AnyObject??, once: Bool
  ) -> Registration {
    let registration = topics.register(
      request, body, of: name?.rawValue, about: object, once: once)
    feed(name)
    return registration
  }

  /// The codec that decodes for everybody who wants what `codec` decodes.
  ///
  /// It decodes for as long as somebody keeps it.
  func share(_ codec: any NotificationDecoding, of name: Notification.Name)
    -> any NotificationDecoding
  {
    state.withLock { state in
      if let shared = state.codecs[name]?[codec.id]?.codec { return shared }
      state.codecs[name, default: [:]][codec.id] = WeakCodec(codec: codec)
      state.feeds[name]?.feed.hasCodecs.store(true, ordering: .releasing)
      return codec
    }
  }

  /// Makes sure that posts under `name` come here.
  private func feed(_ name: Notification.Name?) {
    let unneeded = state.withLock { state -> Unneeded in
      if state.feeds[name] != nil { return Unneeded() }
      guard let center else { return Unneeded() }
      let unneeded = purge(&state)
      let hasCodecs = name.map { state.codecs[$0] != nil } ?? false
      let feed = Feed(name: name, hasCodecs: hasCodecs)
      let token = center.addObserver(forName: name, object: nil, queue: nil) {
        [self] notification in receive(notification, from: feed)
      }
      state.feeds[name] = (feed, token)
      return unneeded
    }
    for token in unneeded.tokens { center?.removeObserver(token) }
  }

  /// What a change under the lock leaves over, to be removed and released outside it.
  private struct Unneeded {
    var tokens: [any NSObjectProtocol] = []
    /// Codecs that were looked at: to look may be to hold one last.
    var codecs: [any NotificationDecoding] = []
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
      known.feed.isOut.store(true, ordering: .releasing)
      unneeded.tokens.append(known.token)
    }
    guard let name, let codecs = state.codecs[name] else { return }
    let living = codecs.values.compactMap(\.codec)
    unneeded.codecs += living
    state.codecs[name] = Dictionary(
      uniqueKeysWithValues: living.map { ($0.id, WeakCodec(codec: $0)) })
    if state.codecs[name]?.isEmpty == true { state.codecs[name] = nil }
  }

  /// Called by the center, on the thread that posts.
  private func receive(_ notification: Notification, from feed: Feed) {
    #if TSAN
      // What Foundation's lock orders, Thread Sanitizer does not see.
      state.withLock { _ in }
    #endif
    if feed.isOut.load(ordering: .acquiring) { return }
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
    let codecs = state.withLock { $0.codecs[name]?.values.compactMap(\.codec) ?? [] }
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
