import Campanile
import Foundation

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
    init(name: Notification.Name?) { self.name = name }
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

  let topics = KeyedCenter<Notification.Name, PostedNotification>()
  private weak let center: NotificationCenter?
  private let state = Locked(State())

  private init(_ center: NotificationCenter) { self.center = center }

  /// The hub of a center, made if there is none.
  static func of(_ center: NotificationCenter) -> NotificationHub {
    if let hub = existing(center) { return hub }
    let new = NotificationHub(center)
    return table.withLock { table in
      let id = ObjectIdentifier(center)
      // The address may have been another center's.
      if let hub = table.known[id]?.hub, hub.center === center { return hub }
      if table.known.count >= table.purgeThreshold {
        table.known = table.known.filter { $0.value.hub != nil }
        table.purgeThreshold = max(64, table.known.count * 2)
      }
      table.known[id] = Known(hub: new)
      return new
    }
  }

  /// The hub of a center, if anybody observes it here.
  static func existing(_ center: NotificationCenter) -> NotificationHub? {
    table.withLock { table in
      guard let hub = table.known[ObjectIdentifier(center)]?.hub, hub.center === center else {
        return nil
      }
      return hub
    }
  }

  /// Registers an observer; when this returns, later posts of the center come to it.
  func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, about object: AnyObject??, once: Bool
  ) -> Registration {
    let registration = topics.register(request, body, of: name, about: object, once: once)
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
      return codec
    }
  }

  /// Makes sure that posts under `name` come here.
  private func feed(_ name: Notification.Name?) {
    let unneeded = state.withLock { state -> [any NSObjectProtocol] in
      if state.feeds[name] != nil { return [] }
      guard let center else { return [] }
      let unneeded = purge(&state)
      let feed = Feed(name: name)
      let token = center.addObserver(forName: name, object: nil, queue: nil) {
        [self] notification in receive(notification, from: feed)
      }
      state.feeds[name] = (feed, token)
      return unneeded
    }
    for token in unneeded { center?.removeObserver(token) }
  }

  /// Takes out the feeds that nobody needs, once in a while; the others go at their next post.
  private func purge(_ state: inout State) -> [any NSObjectProtocol] {
    guard state.feeds.count >= state.purgeThreshold else { return [] }
    let unneeded = state.feeds.filter { !topics.isObserved($0.key) }
    for name in unneeded.keys { forget(name, &state) }
    state.purgeThreshold = max(64, state.feeds.count * 2)
    return unneeded.values.map(\.token)
  }

  private func forget(_ name: Notification.Name?, _ state: inout State) {
    state.feeds[name] = nil
    guard let name else { return }
    state.codecs[name] = state.codecs[name]?.filter { $0.value.codec != nil }
    if state.codecs[name]?.isEmpty == true { state.codecs[name] = nil }
  }

  private enum Reception {
    case ignore
    case stopFeeding(any NSObjectProtocol)
    case post([any NotificationDecoding])
  }

  /// Called by the center, on the thread that posts.
  private func receive(_ notification: Notification, from feed: Feed) {
    let reception = state.withLock { state -> Reception in
      // A post that began before this feed was taken out may still come through it.
      guard let known = state.feeds[feed.name], known.feed === feed else { return .ignore }
      if !topics.isObserved(feed.name) {
        forget(feed.name, &state)
        return .stopFeeding(known.token)
      }
      guard let name = feed.name, let codecs = state.codecs[name] else { return .post([]) }
      return .post(codecs.values.compactMap(\.codec))
    }
    switch reception {
    case .ignore: break
    case .stopFeeding(let token): center?.removeObserver(token)
    case .post(let codecs):
      var decoded: [ObjectIdentifier: Result<any Sendable, any Error>] = [:]
      for codec in codecs { decoded[codec.id] = codec.decode(notification) }
      let posted = PostedNotification(notification, decoded: decoded)
      if let name = feed.name {
        topics.postNarrowly(posted, to: name, about: notification.subject)
      } else {
        topics.postWidely(posted, about: notification.subject)
      }
    }
  }
}
