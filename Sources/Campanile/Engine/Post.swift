import Synchronization

private let isAnyCarrierInstalled = Atomic<Bool>(false)

/// The parts of a post that an observer can receive in addition to the value.
///
/// It is Sendable although the subject need not be. Only observers that receive the subject read
/// it: where the value is posted, and elsewhere if its type is Sendable. Copies that are sent on
/// for other observers don't contain the subject.
@safe package struct Post: @unchecked Sendable {
  // SAFETY: the poster keeps the subject until the post returns, and `kept` does in what outlives
  // it. To retain it for each post would be the most expensive thing that a post does.
  private let borrowed: Unmanaged<AnyObject>?
  private var kept: AnyObject?
  /// Everything else that the post carries, if anything.
  private(set) var details: PostDetails?

  /// A post about `subject`, which the caller keeps for as long as the post and its copies live.
  init(_ subject: AnyObject?) {
    unsafe borrowed = subject.map { unsafe Unmanaged.passUnretained($0) }
  }

  init(details: PostDetails? = nil) {
    unsafe borrowed = nil
    self.details = details
  }

  /// The identity of the instance that the message is about.
  var subjectID: ObjectIdentifier? {
    // SAFETY: as above.
    unsafe borrowed.map { unsafe $0._withUnsafeGuaranteedRef { ObjectIdentifier($0) } }
  }

  /// The instance that the message is about.
  var subject: AnyObject? { unsafe borrowed?.takeUnretainedValue() }

  /// Returns the post for deliveries that outlive it, with the context of the poster.
  ///
  /// A subject in its deinit cannot be kept: observers that are called later get `nil`.
  ///
  /// - Parameter receivesSubject: Whether an observer there receives the subject.
  func kept(withSubject receivesSubject: Bool) -> Post {
    // The common case, in as few steps as there can be.
    if !receivesSubject && details == nil && !PostContext.isCarried { return Post() }
    return keptWithDetails(receivesSubject: receivesSubject)
  }

  @inline(never)
  private func keptWithDetails(receivesSubject: Bool) -> Post {
    let details = PostContext.isCarried ? detailsInContext : details
    guard receivesSubject, let subject, !isDeinitializing(subject) else {
      return Post(details: details)
    }
    var post = self
    post.kept = subject
    post.details = details
    return post
  }

  private var detailsInContext: PostDetails? {
    guard let context = PostContext.current else { return details }
    return with { $0.context = context }.details
  }

  /// The tracker that waits for the deliveries of this post, if any.
  var tracker: DeliveryTracker? { details?.content.tracker }

  /// The number of the post; 0 if the source's events had no observer when it was made.
  var number: UInt64 { details?.number ?? 0 }

  /// The context of the code that posted, if it differs from the context of the code that delivers.
  var context: PostContext? { details?.content.context }

  /// Returns the post with a number, made at a time.
  func numbered(_ number: UInt64, at nanoseconds: UInt64) -> Post {
    with {
      $0.number = number
      $0.nanoseconds = nanoseconds
    }
  }

  /// Returns the post, of a message that came through other centers.
  func along(_ path: [PathStep]) -> Post { path.isEmpty ? self : with { $0.path = path } }

  /// Returns the post, whose deliveries `tracker` waits for, if there is one.
  func tracked(by tracker: DeliveryTracker?) -> Post { with { $0.tracker = tracker } }

  private func with(_ change: (inout PostDetails.Content) -> Void) -> Post {
    var content = details?.content ?? PostDetails.Content()
    change(&content)
    var post = self
    post.details = PostDetails(content)
    return post
  }
}

/// The contents of a post beyond the value and the subject.
///
/// They are in an object, so that a post without them is short.
final class PostDetails: Sendable {
  struct Content: Sendable {
    /// The tracker that waits for the deliveries.
    var tracker: DeliveryTracker?
    /// The number of the post, or 0.
    var number: UInt64 = 0
    /// When the post was made, if it has a number.
    var nanoseconds: UInt64 = 0
    /// The context to restore where the observers are called.
    var context: PostContext?
    /// The centers and carriers that the message came through before this center.
    var path: [PathStep] = []
  }

  let content: Content
  var number: UInt64 { content.number }
  var nanoseconds: UInt64 { content.nanoseconds }

  init(_ content: Content) { self.content = content }
}

/// A place that a message has passed through: a center of any process, or a carrier between
/// processes.
///
/// Two places have the same number about as often as two random 64-bit numbers are equal. This holds
/// for a center that has been released too: a notification that is posted again names such centers.
package struct PathStep: Hashable, Sendable {
  package let number: UInt64

  package init(number: UInt64) { self.number = number }
}

/// The context of the code that made a post, which can be restored around a call.
package final class PostContext: Sendable {
  let around: @Sendable (() -> Void) -> Void
  let aroundAsync: @Sendable (() async -> Void) async -> Void

  init(
    around: @escaping @Sendable (() -> Void) -> Void,
    aroundAsync: @escaping @Sendable (() async -> Void) async -> Void
  ) {
    self.around = around
    self.aroundAsync = aroundAsync
  }

  /// Whether there may be a context to read where a delivery is kept.
  static var isCarried: Bool {
    // No pair: carriers are installed at launch, and read under their lock.
    isAnyCarrierInstalled.load(ordering: .relaxed)
  }

  /// Notes that a carrier has been installed.
  static func noteCarrier() {
    // No pair: as above.
    isAnyCarrierInstalled.store(true, ordering: .relaxed)
  }
}

extension PostContext? {
  /// Makes a call with the context in force, if there is one.
  package func restore(around call: () -> Void) {
    if let self { self.around(call) } else { call() }
  }

  /// Makes an asynchronous call with the context in force, if there is one.
  func restore(around call: () async -> Void) async {
    if let self { await self.aroundAsync(call) } else { await call() }
  }
}

// MARK: - What is left at a target

/// The record that a post leaves at a target beside the value: it names the observers to call.
///
/// It does not keep its lists alive. The buffer that contains it does, once for all envelopes of a
/// burst.
@safe struct Envelope {
  /// The list of the one observer; otherwise the only list, if nothing but the list is needed.
  private let only: Unmanaged<ObserverList>?
  /// Everything else: for one observer the post, if it has a subject or details, and otherwise all
  /// without `only`.
  private let details: Details?
  /// The newest registration that receives the post, or the only one.
  private let newest: UInt64
  /// Whether the envelope waits in the buffer of one observer, and reaches that one alone.
  private let isForOne: Bool

  /// The uncommon fields, in a separate object, so that common envelopes are short.
  private final class Details: Sendable {
    let lists: Route
    /// `.everyone` or `.ordered`; whether each call is checked is decided at the delivery.
    let mode: WalkMode
    let post: Post
    /// The value as the observers of any topic receive it, if the envelope is for some.
    let wildcardValue: (any Sendable)?

    init(
      _ lists: Route, _ mode: WalkMode, _ post: consuming Post, _ wildcardValue: (any Sendable)?
    ) {
      self.lists = lists
      self.mode = mode
      self.post = post
      self.wildcardValue = wildcardValue
    }
  }

  init<Wildcard: Sendable>(
    to lists: Route, _ newest: UInt64, _ mode: WalkMode, _ post: borrowing Post,
    _ wildcardValue: WildcardValue<Wildcard>?
  ) {
    self.newest = newest
    isForOne = false
    let isBare = post.subjectID == nil && post.details == nil && wildcardValue == nil
    if isBare, mode == .everyone, lists.onlyID == nil, let only = lists.only {
      unsafe self.only = only.list
      details = nil
    } else {
      unsafe only = nil
      details = Details(lists, mode, copy post, wildcardValue?.value)
    }
  }

  /// An envelope without a receiver, for a value that is read and not delivered.
  init() {
    unsafe only = nil
    (details, newest, isForOne) = (nil, 0, true)
  }

  /// An envelope in the buffer of the observer that is registered as `id` in `list`.
  ///
  /// Its mailbox keeps the list.
  init(_ post: borrowing Post, at id: UInt64, in list: borrowing ObserverList) {
    unsafe only = Unmanaged.passUnretained(copy list)
    newest = id
    isForOne = true
    let isBare = post.subjectID == nil && post.details == nil
    details = isBare ? nil : Details(Route(), .everyone, copy post, nil)
  }

  /// The list and the identifier of the only registration that the envelope is for.
  ///
  /// That is so in the buffer of one observer, and for a request to deliver what was missed.
  var destination: (list: ObserverList?, id: UInt64) {
    (unsafe (only ?? details?.lists.all.list).map { unsafe $0.takeUnretainedValue() }, newest)
  }

  /// Calls `body` with each list that a buffer is to keep for the envelope.
  func forEachKept(_ body: (ObserverList) -> Void) {
    if isForOne { return }
    if let details { details.lists.forEach(body) }
    unsafe only?._withUnsafeGuaranteedRef(body)
  }

  /// Delivers; called on the target.
  ///
  /// - Returns: The call, if it is to be made in a task; with it the delivery ends.
  func deliver<Value>(_ value: Value) -> PreparedCall? {
    if isForOne {
      let post = details?.post ?? Post()
      // SAFETY: the buffer of one observer keeps the list.
      return unsafe only!._withUnsafeGuaranteedRef {
        $0.registry.deliver(value, post, to: newest, in: $0)
      }
    }
    if let details {
      let registry = details.lists.registry
      let section = registry.enter()
      var route = details.lists.reread
      registry.narrow(section)
      let mode = details.mode == .ordered ? .ordered : registry.everyone
      details.post.context.restore {
        if let wildcardValue = details.wildcardValue {
          registry.walk(value, wildcard: wildcardValue, details.post, newest, mode, &route)
        } else {
          registry.walk(value, WildcardValue.absent, details.post, newest, mode, &route)
        }
      }
      registry.exit(section)
      details.post.tracker?.end()
    } else if let only = unsafe only {
      // SAFETY: the buffer that the envelope stands in keeps the list.
      unsafe only._withUnsafeGuaranteedRef { list in
        let registry = list.registry
        let section = registry.enter()
        let cursor = unsafe Cursor(only)
        registry.narrow(section)
        registry.walk(value, Post(), newest, registry.everyone, cursor)
        registry.exit(section)
      }
    }
    return nil
  }

  /// Reports for each of its observers that the delivery is discarded.
  ///
  /// The caller keeps the list of an envelope for one observer.
  func noteDropped() {
    if isForOne {
      let post = details?.post ?? Post()
      return unsafe only?._withUnsafeGuaranteedRef {
        let registry = $0.registry
        if registry.isReporting { registry.note(.dropped, of: post, at: newest, in: $0) }
      } ?? ()
    }
    guard let details, details.post.number != 0 else { return }
    details.lists.registry.note(.dropped, of: details.post, details.lists, newest, details.mode)
  }

  /// The tracker that waits until the delivery has ended, if any.
  var tracker: DeliveryTracker? { details?.post.tracker }
}

extension ObserverRegistry {
  /// Walks with a value for the observers of any topic whose type is not known.
  fileprivate func walk<Value, Wildcard: Sendable>(
    _ value: Value, wildcard wildcardValue: Wildcard, _ post: borrowing Post, _ newest: UInt64,
    _ mode: WalkMode, _ route: inout Route
  ) {
    WildcardValue.with(wildcardValue) { walk(value, $0, post, newest, mode, &route) }
  }
}
