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
  @inline(__always)
  init(_ subject: AnyObject?) {
    unsafe borrowed = subject.map { unsafe Unmanaged.passUnretained($0) }
  }

  @inline(__always)
  init(details: PostDetails? = nil) {
    unsafe borrowed = nil
    self.details = details
  }

  /// The identity of the instance that the message is about.
  @inline(__always)
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
  @inline(__always)
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

  @inline(never)
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
