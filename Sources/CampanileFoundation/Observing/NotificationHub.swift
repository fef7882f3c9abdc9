package import Campanile
package import Foundation
import Synchronization

/// The package's state for one center: one source, and the block observers that feed it.
///
/// A Foundation center has one block observer for each observed name, whatever the object. It has
/// one more while all names are observed. The block feeds the source, which provides order, ends,
/// owners and deliveries. The block keeps the hub. So the hub lives as long as a block is
/// registered, and dies with the center. Once somebody has asked for the events, or the center is in
/// a path, the hub has one more block. That block stays as long as the center.
///
/// A center that posts to the source itself keeps its hub, and its feeds have no blocks. They only
/// record whether observers read more than decoded values.
package final class NotificationHub: Sendable {
  /// An observed name, with its block observer in the center, if it has one.
  package final class Feed: Sendable {
    let name: Notification.Name?
    /// Whether notifications that arrive through this feed are posted.
    ///
    /// They are while the feed is the registered one of its name. A post may also arrive through
    /// other feeds, which lost the race to register or are being removed.
    let isOpen = Atomic<Bool>(false)
    /// Whether an observer may have read more than the decoded values.
    let isRead: Atomic<Bool>

    /// Whether an observer that a post has reached may have read more than the decoded values.
    ///
    /// A reader that is registered through a later feed sets the flag of that one, after this one
    /// was closed.
    var mayBeRead: Bool {
      isRead.load(ordering: .acquiring) || !isOpen.load(ordering: .acquiring)
    }

    init(name: Notification.Name?) {
      self.name = name
      // Feeds of all names decode nothing.
      isRead = Atomic(name == nil)
    }
  }

  /// The token of a block in the center.
  struct BlockToken {
    #if canImport(Darwin)
      // The center keeps the token until it is removed. The token keeps the block, which keeps the
      // hub. If the hub kept the token, the hub would not end with the center.
      weak let object: (any NSObjectProtocol)?
    #else
      // On Linux, the center does not keep the token.
      let object: (any NSObjectProtocol)?
    #endif
  }

  /// Kept by an observer of all names.
  ///
  /// Its release removes the nameless block after the last such observer.
  private final class NamelessUse: Sendable {
    private weak let hub: NotificationHub?
    init(of hub: NotificationHub) { self.hub = hub }
    deinit { hub?.stopUnlessNeeded(nil) }
  }

  /// A feed, and its token.
  ///
  /// A center that posts to the source itself has no token.
  struct KnownFeed {
    let feed: Feed
    let token: BlockToken
  }

  /// Protected by the lock.
  ///
  /// The center is never called with the lock held.
  struct State {
    var feeds: [Notification.Name?: KnownFeed] = [:]
    var purgeThreshold = 64
    /// For each name, the number of observers being registered that read more than decoded values.
    var readersToCome: [Notification.Name: Int] = [:]
    /// Whether new feeds are read, whatever their names; of a center that posts to the source itself.
    ///
    /// It stays set.
    var isReadWidely = false
    /// Whether the hub lives as long as its center.
    var isLasting = false
    /// The token of the block that keeps the hub for that.
    var lastingToken: BlockToken?
  }

  private static let table = Locked(WeakTable<ObjectIdentifier, NotificationHub>())

  package let topics = KeyedCenter<PostedNotification>()
  /// The step through the center.
  package let pathStep = PathStep(number: .random(in: 0 ... .max))
  let codecs = NotificationCodecs()
  private weak let center: NotificationCenter?
  /// Whether the center posts to `topics` itself.
  private let isDirect: Bool
  // SAFETY: threads keep the tokens, and pass them to their center, which is thread-safe.
  let state = UncheckedLock(State())

  private init(feeding center: NotificationCenter) {
    self.center = center
    isDirect = false
  }

  /// Creates the hub of a center that posts to `topics` itself.
  package init() {
    center = nil
    isDirect = true
  }

  /// The hub of a center, created if necessary.
  static func of(_ center: NotificationCenter) -> NotificationHub {
    if let hub = existing(center) { return hub }
    return table.shared(ObjectIdentifier(center), or: NotificationHub(feeding: center)) {
      $0.isHub(of: center)
    }
  }

  /// Whether this is the center's hub.
  ///
  /// The caller keeps `center`, so the comparison never holds the last reference to it.
  private func isHub(of center: NotificationCenter) -> Bool { self.center === center }

  /// The hub of a center, if it is observed through Campanile.
  static func existing(_ center: NotificationCenter) -> NotificationHub? {
    // Compared outside the lock, since this may be the last reference to the hub.
    let hub = table.withLock { $0[ObjectIdentifier(center)] }
    return hub?.isHub(of: center) == true ? hub : nil
  }

  /// Registers an observer for the posts that begin after this returns.
  ///
  /// - Parameter isReader: Whether the observer reads more than the decoded values.
  func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, about object: AnyObject??, isReader: Bool
  ) -> Registration {
    // A nameless block costs every post something, and on Linux a post of Foundation's typed messages
    // aborts while there is one, so the block must not stay until the next post.
    let use = isDirect || name != nil ? nil : NamelessUse(of: self)
    // Kept until the feed is stored, since the registration may end before.
    defer { withExtendedLifetime(use) {} }
    let body = use.map { body.keeping($0) } ?? body
    // Set first, so that every feed of the first post knows of the reader.
    let readName = isReader ? name : nil
    if let readName { expectReader(of: readName) }
    if isDirect && name == nil { expectReaderOfAllNames() }
    let registration = topics.register(
      request, body, of: name?.rawValue, about: object)
    if registration.isActive { feed(name) }
    if let readName { forgetReader(of: readName) }
    return registration
  }

  /// Records that a reader is about to be registered.
  private func expectReader(of name: Notification.Name) {
    state.withLock { state in
      state.readersToCome[name, default: 0] += 1
      state.feeds[name]?.feed.isRead.store(true, ordering: .releasing)
    }
  }

  /// Records that a reader is about to be registered that reads what arrives through any feed.
  private func expectReaderOfAllNames() {
    state.withLock { state in
      state.isReadWidely = true
      for known in state.feeds.values { known.feed.isRead.store(true, ordering: .releasing) }
    }
  }

  /// Records that a reader has been registered, and that its feed knows.
  private func forgetReader(of name: Notification.Name) {
    state.withLock { state in
      let count = state.readersToCome[name] ?? 0
      state.readersToCome[name] = count > 1 ? count - 1 : nil
    }
  }

  /// The content that observers of a posted notification receive.
  ///
  /// Called on the posting thread, which settles the content when the immediate observers have been
  /// called.
  ///
  /// - Parameters:
  ///   - instance: The object of the notification, if that is an instance of a class.
  ///   - feed: Knows whether observers may read more than the decoded values.
  private func makeContent(
    _ notification: consuming Notification, about instance: AnyObject?, by feed: Feed?
  ) -> NotificationContent {
    let decoded = codecs.decode(notification)
    return .make(notification, about: instance, decoded: decoded, by: feed)
  }

  /// Whether some observers want decoded values.
  ///
  /// Decoders are foreign code. So the content is made before the post begins, and code that waits for
  /// posts does not wait for a decoder.
  package var decodes: Bool { !codecs.isEmpty }

  /// Returns the content of a notification that is given by its parts, of a center without blocks.
  package func makeContent(
    _ name: Notification.Name, _ object: Any?, _ userInfo: [AnyHashable: Any]?,
    about instance: AnyObject?
  ) -> NotificationContent {
    if !decodes, instance.map({ !isDeinitializing($0) }) ?? true {
      return NotificationContent(name: name, object: object, userInfo: userInfo)
    }
    return makeContent(
      Notification(name: name, object: object, userInfo: userInfo), about: instance,
      by: decodes ? state.withLock { $0.feeds[name]?.feed } : nil)
  }

  /// This hub, which lives as long as the center from now on.
  ///
  /// Observers of the events need that, since they do not keep the hub. So do paths, which name the
  /// center by its hub.
  func lasting() -> NotificationHub {
    let wasLasting = state.withLock { state in
      defer { state.isLasting = true }
      return state.isLasting
    }
    if wasLasting { return self }
    // The block is never called, because no notification has that name.
    let token = center?.addObserver(forName: Self.lastingName, object: nil, queue: nil) {
      [self] _ in withExtendedLifetime(self) {}
    }
    state.withLock { $0.lastingToken = BlockToken(object: token) }
    return self
  }

  private static let lastingName = Notification.Name("CampanileFoundation.NotificationHub")

  // MARK: Feeding

  /// Ensures that posts under `name` arrive here.
  private func feed(_ name: Notification.Name?) {
    guard state.withLock({ $0.feeds[name] == nil }) else { return }
    let center = center
    if center == nil && !isDirect { return }
    // The center is called outside the lock, since it may be a subclass. Other threads may do the
    // same meanwhile. The first feed that is stored is used.
    let feed = Feed(name: name)
    let token = center?.addObserver(forName: name, object: nil, queue: nil) {
      [self] notification in receive(notification, from: feed)
    }
    let unneeded = state.withLock { state -> [any NSObjectProtocol] in
      if state.feeds[name] != nil { return [token].compactMap(\.self) }
      let unneeded = purge(&state)
      if state.isReadWidely || name.map({ state.readersToCome[$0] != nil }) ?? false {
        feed.isRead.store(true, ordering: .relaxed)
      }
      state.feeds[name] = KnownFeed(feed: feed, token: BlockToken(object: token))
      feed.isOpen.store(true, ordering: .releasing)
      return unneeded
    }
    for token in unneeded { center?.removeObserver(token) }
  }

  /// Removes unneeded feeds, once in a while.
  ///
  /// Other unneeded feeds are removed at their next post.
  ///
  /// - Returns: The tokens of those feeds, to be removed and released outside the lock.
  private func purge(_ state: inout State) -> [any NSObjectProtocol] {
    guard state.feeds.count >= state.purgeThreshold else { return [] }
    let unneeded = state.feeds.keys.filter { !topics.keys.isObserved($0?.rawValue) }
      .compactMap { forget($0, &state) }
    state.purgeThreshold = max(64, state.feeds.count * 2)
    return unneeded
  }

  private func forget(_ name: Notification.Name?, _ state: inout State) -> (any NSObjectProtocol)? {
    guard let known = state.feeds.removeValue(forKey: name) else { return nil }
    known.feed.isOpen.store(false, ordering: .releasing)
    return known.token.object
  }

  /// Called by the center, on the posting thread.
  private func receive(_ notification: Notification, from feed: Feed) {
    #if TSAN
      // Thread Sanitizer does not see the order that Foundation's lock establishes: the hub was
      // created before.
      Self.table.withLock { _ in }
    #endif
    guard feed.isOpen.load(ordering: .acquiring) else { return }
    var content: NotificationContent?
    let instance = notification.subject
    let isHeard: Bool
    if let name = feed.name {
      let isDecoded = decodes && topics.keys.isObserved(name.rawValue)
      let early = isDecoded ? makeContent(notification, about: instance, by: feed) : nil
      isHeard = topics.postNarrowly(to: name.rawValue, about: instance) {
        let made = early ?? makeContent(notification, about: instance, by: feed)
        content = made
        return PostedNotification(made)
      }
    } else {
      isHeard = topics.postToWildcard(about: instance) {
        let made = NotificationContent.make(
          notification, about: instance, decoded: nil, by: feed)
        content = made
        return PostedNotification(made)
      }
    }
    content?.settle()
    if !isHeard { stopUnlessNeeded(feed.name) }
  }

  /// Removes the feed of a name without observers.
  private func stopUnlessNeeded(_ name: Notification.Name?) {
    let unneeded = state.withLock { state in
      topics.keys.isObserved(name?.rawValue) ? nil : forget(name, &state)
    }
    if let unneeded { center?.removeObserver(unneeded) }
  }
}
