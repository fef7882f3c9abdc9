public import Campanile
public import Foundation

/// Posts messages and notifications later, in order, and those that say the same once.
///
/// ```swift
/// let posting = PostingQueue(on: .mainQueue)
/// posting.enqueue(LevelChanged(level: 0.4), about: player, to: center, .whenIdle)
/// posting.enqueue(Notification(name: .trackChanged), to: .default, .asap, coalescing: .type)
/// ```
///
/// ## Behavior
///
/// The queue posts on the place it was made with. What is to be posted as soon as possible is
/// posted there in the order in which it was enqueued, in one turn. What can wait until the place
/// is idle is posted one at a time, each in a turn of its own, and only if nothing is to be posted
/// as soon as possible. To post now is to post on the calling thread.
///
/// A turn is one job at the place, asked for when the first entry is enqueued or when the turn
/// before has left something. At a serial place it comes after the jobs that were there when it was
/// asked for. The deliveries that wait at a place are one job too, which gives up the place after
/// some thousand of them and goes on behind the others: where more than that wait, a turn may come
/// before the last of them. At a place that runs several jobs at a time, such as an operation queue
/// without a limit, a turn comes when the place begins it, and beside deliveries; the turns of one
/// queue still follow each other.
///
/// Enqueuing first takes back what is waiting that coalesces with the new entry, whatever its
/// style, and then puts the new entry at the end: the last one says what is posted, and when. Entries
/// for other centers stay. What is taken back is found by its name and its subject: the cost does
/// not depend on how many others wait.
///
/// A subject that is in its `deinit` when it is enqueued cannot be kept. What waits is then posted
/// about nothing, a notification without an object, and observers of that subject do not hear it. It
/// takes back no other by its subject, and no other takes it back by its own. To reach the observers
/// from a `deinit`, post now.
///
/// Everything is safe from any thread, and from inside an observer: what is enqueued there comes in
/// a later turn. No lock is held while anything is posted. A queue that is released posts what is
/// waiting all the same. If its place has ended, what is waiting is discarded and counted.
public final class PostingQueue: Sendable {
  /// When to post.
  public enum Style: Sendable, Hashable {
    /// Before `enqueue` returns, on the calling thread.
    case now
    /// In the next turn of the queue's place.
    case asap
    /// In a turn in which nothing else is to be posted.
    case whenIdle
  }

  private let delivery: Delivery
  private let line = Locked(PostingLine())

  /// Creates a queue that posts on a place.
  ///
  /// - Parameter delivery: Where to post: `.mainQueue`, `.queue(_:)`, `.thread(_:)`, and the like.
  ///   `.immediate` is no place, and is a precondition failure.
  public init(on delivery: Delivery) {
    precondition(
      !delivery.isImmediate,
      "A posting queue was given immediate delivery, which has no place to post on later")
    self.delivery = delivery
  }

  /// How many posts are waiting.
  public var count: Int { line.withLock { $0.count } }

  /// How many posts were discarded because their place had ended.
  public var discardedCount: Int { line.withLock { $0.discardedCount } }

  // MARK: Messages

  /// Posts a message that is about nothing in particular.
  public func enqueue<M: MessageCenter.Message>(
    _ message: M, to center: MessageCenter, _ style: Style,
    coalescing: PostingCoalescing = .typeAndSubject
  ) {
    let label = PostingLabel(center: center, kind: .message(ObjectIdentifier(M.self)), subject: nil)
    enqueue(label, style, coalescing) { center.post(message) }
  }

  /// Posts a message about `subject`, which is kept until then.
  public func enqueue<M: MessageCenter.Message>(
    _ message: M, about subject: M.Subject, to center: MessageCenter, _ style: Style,
    coalescing: PostingCoalescing = .typeAndSubject
  ) where M.Subject: Sendable {
    let isLeftOut = mustLeaveOut(subject, style)
    let label = PostingLabel(
      center: center, kind: .message(ObjectIdentifier(M.self)), subject: subject,
      isLeftOut: isLeftOut)
    if isLeftOut {
      enqueue(label, style, coalescing) { center.post(message) }
    } else {
      enqueue(label, style, coalescing) { center.post(message, about: subject) }
    }
  }

  /// Takes back the messages of a type that are waiting for `center`.
  public func dequeue<M: MessageCenter.Message>(_ type: M.Type, from center: MessageCenter) {
    let label = PostingLabel(center: center, kind: .message(ObjectIdentifier(type)), subject: nil)
    remove(label, .type)
  }

  /// Takes back the messages of a type about `subject` that are waiting for `center`.
  public func dequeue<M: MessageCenter.Message>(
    _ type: M.Type, about subject: M.Subject, from center: MessageCenter
  ) {
    let label = PostingLabel(
      center: center, kind: .message(ObjectIdentifier(type)), subject: subject)
    remove(label, .typeAndSubject)
  }

  // MARK: Notifications

  /// Posts a notification, which is given away: the caller has no more use for it.
  ///
  /// A notification is not Sendable, and its object and user info go with it. What others still use
  /// cannot be given away; the compiler says so. For coalescing, its name is its type, and its
  /// object its subject; a value has no identity, so that notifications about values are all
  /// posted.
  public func enqueue(
    _ notification: sending Notification, to center: NotificationCenter, _ style: Style,
    coalescing: PostingCoalescing = .typeAndSubject
  ) {
    let subject = notification.subject
    let isLeftOut = mustLeaveOut(subject, style)
    let label = PostingLabel(
      center: center, kind: .notification(notification.name), subject: subject,
      isAboutValue: notification.isAboutValue, isLeftOut: isLeftOut)
    if style == .now {
      remove(label, coalescing)
      center.post(notification)
      return
    }
    let cargo = Cargo(notification)
    if isLeftOut { cargo.notification.withLock { $0?.object = nil } }
    enqueue(label, style, coalescing) {
      if let notification = cargo.notification.withLock({ $0.take() }) {
        center.post(notification)
      }
    }
  }

  /// Posts a value as a notification about `object`, which is kept until then.
  public func enqueue<Value: TypedNotification>(
    _ value: Value, object: (any AnyObject & Sendable)? = nil, to center: NotificationCenter,
    _ style: Style, coalescing: PostingCoalescing = .typeAndSubject
  ) {
    let isLeftOut = mustLeaveOut(object, style)
    let label = PostingLabel(
      center: center, kind: .notification(Value.notificationName), subject: object,
      isLeftOut: isLeftOut)
    let kept = isLeftOut ? nil : object
    enqueue(label, style, coalescing) { center.post(value, object: kept) }
  }

  /// Takes back the notifications of a name that are waiting for `center`, or those about `object`.
  public func dequeue(
    _ name: Notification.Name, object: AnyObject? = nil, from center: NotificationCenter
  ) {
    let label = PostingLabel(center: center, kind: .notification(name), subject: object)
    remove(label, object == nil ? .type : .typeAndSubject)
  }

  /// A notification on its way to another thread.
  private final class Cargo: Sendable {
    let notification: Locked<Notification?>
    init(_ notification: sending Notification) { self.notification = Locked(notification) }
  }

  // MARK: Posting

  /// Whether what waits cannot keep its subject.
  private func mustLeaveOut(_ subject: AnyObject?, _ style: Style) -> Bool {
    guard style != .now, let subject else { return false }
    return isDeinitializing(subject)
  }

  private func enqueue(
    _ label: PostingLabel, _ style: Style, _ coalescing: PostingCoalescing,
    _ post: @escaping @Sendable () -> Void
  ) {
    if style == .now {
      remove(label, coalescing)
      post()
      return
    }
    let (removed, mustSchedule) = line.withLock {
      $0.enqueue(label, whenIdle: style == .whenIdle, coalescing, post)
    }
    if mustSchedule { schedule() }
    withExtendedLifetime(removed) {}
  }

  private func remove(_ label: PostingLabel, _ coalescing: PostingCoalescing) {
    let removed = line.withLock { $0.remove(label, coalescing) }
    // What an entry kept goes here, outside the lock.
    withExtendedLifetime(removed) {}
  }

  private func schedule() {
    let turn = Turn(self)
    delivery.perform { turn.run() }
  }

  private func runTurn() {
    let last = line.withLock { $0.beginTurn() }
    while let post = line.withLock({ $0.next(upTo: last) }) { post() }
    if line.withLock({ $0.endTurn() }) { schedule() }
  }

  private func discard() {
    let discarded = line.withLock { $0.discard() }
    withExtendedLifetime(discarded) {}
  }

  /// One turn at the place; released without having run, the place has ended.
  private final class Turn: Sendable {
    private let queue: Locked<PostingQueue?>

    init(_ queue: PostingQueue) { self.queue = Locked(queue) }

    deinit { queue.withLock { $0.take() }?.discard() }

    func run() { queue.withLock { $0.take() }?.runTurn() }
  }
}
