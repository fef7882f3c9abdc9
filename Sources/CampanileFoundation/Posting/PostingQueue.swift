public import Campanile
public import Foundation

/// Posts messages and notifications later, in order, and coalesces posts that repeat each other.
///
/// ```swift
/// let posting = PostingQueue(on: .queue(.main))
/// posting.enqueue(LevelChanged(level: 0.4), about: player, to: center, .whenIdle)
/// posting.enqueue(Notification(name: .trackChanged), to: .default, .asap, coalescing: .type)
/// ```
///
/// ## Behavior
///
/// The queue posts at the place that it was created with.
///
/// Posts with the style ``Style/asap`` are made in one turn, in the order in which they were
/// enqueued. Posts with the style ``Style/whenIdle`` are made one at a time, each in a separate
/// turn, and only if no `asap` post waits. Posts with the style ``Style/now`` are made on the
/// calling thread.
///
/// A turn is one job at the place. It is requested when the first entry is enqueued, or when a turn
/// has left entries. At a serial place, it runs after the jobs that were there when it was
/// requested. Waiting deliveries run in one job too, which lets other jobs run after about a
/// thousand of them, so if more wait, a turn may run before the last of them.
///
/// At a place that runs several jobs at a time, such as an operation queue without a limit, a turn
/// runs when the place starts it, and beside deliveries. The turns of one queue still follow each
/// other.
///
/// Enqueuing first removes the waiting entries that coalesce with the new entry, whatever their
/// style and their own coalescing, and then appends the new entry, so the last entry decides what
/// is posted, and when. By default the entries of the same type about the same subject coalesce;
/// with the coalescing `.none` no entries do. Entries for other centers stay. Entries are found by
/// name and subject, so the cost does not depend on the number of waiting entries. Task-local
/// values of the code that enqueues are not carried to observers, except with the style `now`.
///
/// A subject that is in its `deinit` when it is enqueued cannot be kept. The entry is then posted
/// without a subject, as a notification without an object, so observers of that subject do not
/// receive it, and it coalesces with no entry by its subject. To reach these observers from a
/// `deinit`, post with the style `now`.
///
/// All methods are safe to call from any thread, and from inside an observer, whose entries are
/// posted in a later turn. No lock is held during a post. A released queue still posts the waiting
/// entries. If its place has ended, or has canceled its operations, they are discarded and counted.
public final class PostingQueue: Sendable {
  /// When to post.
  public enum Style: Sendable, Hashable {
    /// Before `enqueue` returns, on the calling thread.
    case now
    /// In the next turn of the queue's place.
    case asap
    /// In a turn of the queue's place in which no other post is waiting.
    case whenIdle
  }

  private let delivery: Delivery
  private let line = Locked(PostingLine())

  /// Creates a queue that posts at a place.
  ///
  /// - Parameter delivery: Where to post: `.queue(_:)`, `.thread(_:)`, and the like.
  ///   `.immediate` isn't a place, and is a precondition failure.
  public init(on delivery: Delivery) {
    require(
      !delivery.isImmediate,
      "A posting queue was given immediate delivery, which has no place to post on later")
    self.delivery = delivery
  }

  /// The number of waiting posts.
  public var count: Int { line.withLock { $0.count } }

  /// The number of posts that were discarded because their place had ended, or had canceled its
  /// operations.
  public var discardedCount: Int { line.withLock { $0.discardedCount } }

  // MARK: Messages

  /// Posts a message without a subject.
  public func enqueue<M: MessageCenter.Message>(
    _ message: M, to center: MessageCenter, _ style: Style,
    coalescing: PostingCoalescing = .typeAndSubject
  ) {
    let label = PostingLabel(center: center, kind: .message(ObjectIdentifier(M.self)), subject: nil)
    enqueue(label, style, coalescing) { center.post(message) }
  }

  /// Posts a message about `subject`, which is kept until the message has been posted.
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

  /// Removes the messages of a type that are waiting for `center`.
  public func dequeue<M: MessageCenter.Message>(_ type: M.Type, from center: MessageCenter) {
    let label = PostingLabel(center: center, kind: .message(ObjectIdentifier(type)), subject: nil)
    remove(label, .type)
  }

  /// Removes the messages of a type about `subject` that are waiting for `center`.
  public func dequeue<M: MessageCenter.Message>(
    _ type: M.Type, about subject: M.Subject, from center: MessageCenter
  ) {
    let label = PostingLabel(
      center: center, kind: .message(ObjectIdentifier(type)), subject: subject)
    remove(label, .typeAndSubject)
  }

  // MARK: Notifications

  /// Posts a notification, which is sent to the queue, so the caller must not use it afterwards.
  ///
  /// A notification is not `Sendable`, and its object and user info are sent with it. If other code
  /// still uses them, the compiler reports an error. For coalescing, its name counts as its type,
  /// and its object as its subject. A value has no identity, so notifications about values do not
  /// coalesce.
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

  /// Posts a value as a notification about `object`, which is kept until it has been posted.
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

  /// Removes the notifications of a name that are waiting for `center`, or only those about
  /// `object`.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - object: The object. `nil` selects the notifications about every object, so unwrap an
  ///     optional first.
  ///   - center: The center that they are waiting for.
  public func dequeue(
    _ name: Notification.Name, object: AnyObject? = nil, from center: NotificationCenter
  ) {
    let label = PostingLabel(center: center, kind: .notification(name), subject: object)
    remove(label, object == nil ? .type : .typeAndSubject)
  }

  /// A notification that is sent to another thread.
  private final class Cargo: Sendable {
    let notification: Locked<Notification?>
    init(_ notification: sending Notification) { self.notification = Locked(notification) }
  }

  // MARK: Posting

  /// Whether a waiting entry cannot keep its subject.
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
    // Objects that an entry kept are released here, outside the lock.
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

  /// One turn at the place.
  ///
  /// If it is released without having run, the place has ended, or has canceled its operations.
  private final class Turn: Sendable {
    private let queue: Locked<PostingQueue?>

    init(_ queue: PostingQueue) { self.queue = Locked(queue) }

    deinit { queue.withLock { $0.take() }?.discard() }

    func run() { queue.withLock { $0.take() }?.runTurn() }
  }
}
