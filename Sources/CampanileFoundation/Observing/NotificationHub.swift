package import Campanile
package import Foundation
import Synchronization

/// What this package knows of one center: one source, and what feeds it.
///
/// A Foundation center has one block observer for each name that is observed here, whatever its
/// object. It has one more if somebody observes all names. The block feeds the source, from which
/// order, ends, owners and deliveries come. The block keeps the hub: the hub lives as long as
/// anybody observes here, and dies with the center.
///
/// A center that posts to the source itself keeps its hub, and the hub has no blocks.
package final class NotificationHub: Sendable {
  /// A block observer in the center.
  final class Feed: Sendable {
    let name: Notification.Name?
    /// Whether what comes through this feed counts.
    ///
    /// It does while the feed is its name's. A post may come through others too, which came second
    /// or are on their way out.
    let isOpen = Atomic<Bool>(false)
    /// Whether an observer may have been given more than what was decoded.
    let isRead: Atomic<Bool>

    init(name: Notification.Name?) {
      self.name = name
      // Nothing is decoded of notifications of any name.
      isRead = Atomic(name == nil)
    }
  }

  /// Protected by the lock, with which the center is never called.
  struct State {
    var feeds: [Notification.Name?: (feed: Feed, token: any NSObjectProtocol)] = [:]
    var purgeThreshold = 64
    /// How many observers of a name are being registered who read more than what was decoded.
    var readersToCome: [Notification.Name: Int] = [:]
  }

  private static let table = Locked(WeakTable<ObjectIdentifier, NotificationHub>())

  package let topics = KeyedCenter<PostedNotification>()
  let codecs = NotificationCodecs()
  private weak let center: NotificationCenter?
  // SAFETY: threads keep the tokens in it, and hand them to their center, which is thread-safe.
  let state = UncheckedLock(State())

  private init(feeding center: NotificationCenter) { self.center = center }

  /// Creates the hub of a center that posts to `topics` itself.
  package init() { center = nil }

  /// The hub of a center, made if there is none.
  static func of(_ center: NotificationCenter) -> NotificationHub {
    if let hub = existing(center) { return hub }
    let new = NotificationHub(feeding: center)
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
  ///
  /// - Parameter isReader: whether the observer reads more than what was decoded.
  func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, about object: AnyObject??, once: Bool, isReader: Bool
  ) -> Registration {
    // Whatever feed the first post comes through, it knows of the reader.
    let readName = isReader ? name : nil
    if let readName { expectReader(of: readName) }
    let registration = topics.register(
      request, body, of: name?.rawValue, about: object, once: once)
    if registration.isActive { feed(name) }
    if let readName { forgetReader(of: readName) }
    return registration
  }

  /// Says that a reader is about to be registered.
  private func expectReader(of name: Notification.Name) {
    state.withLock { state in
      state.readersToCome[name, default: 0] += 1
      state.feeds[name]?.feed.isRead.store(true, ordering: .releasing)
    }
  }

  /// Says that a reader has been registered, and that its feed knows.
  private func forgetReader(of name: Notification.Name) {
    state.withLock { state in
      let count = state.readersToCome[name] ?? 0
      state.readersToCome[name] = count > 1 ? count - 1 : nil
    }
  }

  /// What observers are given of a notification that is being posted.
  ///
  /// Called on the thread that posts, which settles the content when the post has returned.
  ///
  /// - Parameters:
  ///   - instance: What the notification is about, if that is an instance.
  ///   - isRead: whether observers may be given more than what was decoded.
  package func makeContent(
    _ notification: consuming Notification, about instance: AnyObject?, isRead: Bool = true
  ) -> NotificationContent {
    let decoded = codecs.decode(notification)
    return .make(notification, about: instance, decoded: decoded, isRead: isRead)
  }

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
    let unneeded = state.withLock { state -> [any NSObjectProtocol] in
      if state.feeds[name] != nil { return [token] }
      let unneeded = purge(&state)
      if let name, state.readersToCome[name] != nil { feed.isRead.store(true, ordering: .relaxed) }
      state.feeds[name] = (feed, token)
      feed.isOpen.store(true, ordering: .releasing)
      return unneeded
    }
    for token in unneeded { center.removeObserver(token) }
  }

  /// Takes out the feeds that nobody needs, once in a while; the others go at their next post.
  ///
  /// - Returns: the tokens of those feeds, to be removed and released outside the lock.
  private func purge(_ state: inout State) -> [any NSObjectProtocol] {
    guard state.feeds.count >= state.purgeThreshold else { return [] }
    let unneeded = state.feeds.keys.filter { !topics.isObserved($0?.rawValue) }
      .compactMap { forget($0, &state) }
    state.purgeThreshold = max(64, state.feeds.count * 2)
    return unneeded
  }

  private func forget(_ name: Notification.Name?, _ state: inout State) -> (any NSObjectProtocol)? {
    guard let known = state.feeds.removeValue(forKey: name) else { return nil }
    known.feed.isOpen.store(false, ordering: .releasing)
    return known.token
  }

  /// Called by the center, on the thread that posts.
  private func receive(_ notification: Notification, from feed: Feed) {
    #if TSAN
      // What Foundation's lock orders, Thread Sanitizer does not see: that this hub was made before.
      Self.table.withLock { _ in }
    #endif
    guard feed.isOpen.load(ordering: .acquiring) else { return }
    var content: NotificationContent?
    // Who begins to read meanwhile says so before it is registered: asked again afterwards.
    let isRead = feed.isRead.load(ordering: .acquiring)
    let instance = notification.subject
    let isHeard: Bool
    if let name = feed.name {
      isHeard = topics.postNarrowly(to: name.rawValue, about: instance) {
        let made = makeContent(notification, about: instance, isRead: isRead)
        content = made
        return PostedNotification(made)
      }
    } else {
      isHeard = topics.postWidely(about: instance) {
        let made = NotificationContent.make(
          notification, about: instance, decoded: [:], isRead: isRead)
        content = made
        return PostedNotification(made)
      }
    }
    content?.settle(isRead: feed.isRead.load(ordering: .acquiring))
    if !isHeard { stopUnlessNeeded(feed) }
  }

  /// Takes a feed out that nobody needs any more.
  private func stopUnlessNeeded(_ feed: Feed) {
    let unneeded = state.withLock { state -> (any NSObjectProtocol)? in
      guard let known = state.feeds[feed.name], known.feed === feed,
        !topics.isObserved(feed.name?.rawValue)
      else { return nil }
      return forget(feed.name, &state)
    }
    if let unneeded { center?.removeObserver(unneeded) }
  }
}
