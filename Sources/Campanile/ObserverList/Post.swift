/// What a post tells an observer besides the value.
///
/// Sendable although the subject need not be. Nobody looks at it but observers that are told it:
/// where the value is posted, and elsewhere if its type is Sendable. What is sent on for others is
/// without it.
@safe package struct Post: @unchecked Sendable {
  // SAFETY: who posts keeps the subject until the post returns, and `kept` does in what outlives
  // it. To retain it for each post would be the most expensive thing that a post does.
  private let borrowed: Unmanaged<AnyObject>?
  private var kept: AnyObject?
  /// What else it carries, if somebody has asked for more.
  private(set) var details: PostDetails?

  /// A post about `subject`, which the caller keeps for as long as the post and its copies live.
  @inline(__always)
  init(subject: AnyObject) { unsafe borrowed = Unmanaged.passUnretained(subject) }

  /// The same, where there may be a subject.
  @inline(__always)
  init(_ subject: AnyObject?) {
    unsafe borrowed = subject.map { unsafe Unmanaged.passUnretained($0) }
  }

  @inline(__always)
  init(details: PostDetails? = nil) {
    unsafe borrowed = nil
    self.details = details
  }

  /// Which instance the message is about.
  @inline(__always)
  var subjectID: ObjectIdentifier? {
    // SAFETY: as above.
    unsafe borrowed.map { unsafe $0._withUnsafeGuaranteedRef { ObjectIdentifier($0) } }
  }

  /// The instance that the message is about.
  var subject: AnyObject? { unsafe borrowed?.takeUnretainedValue() }

  /// The same for what outlives the post, with the context of the code that posts.
  ///
  /// A subject in its deinit cannot be kept: observers that are called later get `nil`.
  ///
  /// - Parameter isTold: whether somebody is told the subject there.
  @inline(__always)
  func kept(isTold: Bool) -> Post {
    // The common case, in as few steps as there can be.
    if !isTold && details == nil && !ContextCarrier.isAnyInstalled { return Post() }
    return keptWithDetails(isTold: isTold)
  }

  @inline(never)
  private func keptWithDetails(isTold: Bool) -> Post {
    let details = ContextCarrier.isAnyInstalled ? detailsInContext : details
    guard isTold, let subject, !isDeinitializing(subject) else { return Post(details: details) }
    var post = self
    post.kept = subject
    post.details = details
    return post
  }

  @inline(never)
  private var detailsInContext: PostDetails? {
    guard let context = PostContext.current else { return details }
    return PostDetails(details, tracker: tracker, context: context)
  }

  // MARK: Details

  /// Who waits for the deliveries of this post, if anybody does.
  var tracker: DeliveryTracker? { details?.tracker }

  /// The number of the post; 0 if nobody observed the source's events when it was made.
  var number: UInt64 { details?.number ?? 0 }

  /// The context of the code that posted, where that is not the context of who delivers.
  var context: PostContext? { details?.context }

  /// The same post under a number, made at `time`.
  func numbered(_ number: UInt64, at time: UInt64) -> Post {
    carrying(
      PostDetails(
        tracker: tracker, number: number, time: time, context: context, skippedID: skippedID))
  }

  /// The identifier of the registration that does not hear this post; 0 if there is none.
  var skippedID: UInt64 { details?.skippedID ?? 0 }

  /// The same post, which one registration does not hear.
  func skipping(_ id: UInt64) -> Post {
    carrying(PostDetails(details, tracker: tracker, context: context, skippedID: id))
  }

  /// The same post, for whose deliveries `tracker` waits.
  func tracked(by tracker: DeliveryTracker) -> Post {
    carrying(PostDetails(details, tracker: tracker, context: context))
  }

  /// The same post, for which nobody waits.
  var untracked: Post { carrying(PostDetails(details, tracker: nil, context: context)) }

  private func carrying(_ details: PostDetails) -> Post {
    var post = self
    post.details = details
    return post
  }
}

extension Post {
  /// Holds the delivery open: whoever waits for the post waits until it is ended.
  ///
  /// - Returns: What ends it, once; `nil` if nobody waits for the post.
  package borrowing func hold() -> HeldDelivery? {
    // Looked at first: it is one comparison, and a function more to copy what is there.
    if details == nil { return nil }
    return tracker.map { HeldDelivery($0) }
  }
}

/// A delivery that goes on after its observer has returned.
///
/// It ends with the object, or before.
package final class HeldDelivery: Sendable {
  private let tracker: Locked<DeliveryTracker?>

  fileprivate init(_ tracker: DeliveryTracker) {
    tracker.begin()
    self.tracker = Locked(tracker)
  }

  deinit { end() }

  /// Ends the delivery; later calls do nothing.
  package func end() { tracker.withLock { $0.take() }?.end() }
}

/// What a post carries where somebody has asked for more than the value and the subject.
///
/// In an object, so that a post which carries nothing is short.
final class PostDetails: Sendable {
  /// Who waits for the deliveries.
  let tracker: DeliveryTracker?
  /// The number of the post, or 0.
  let number: UInt64
  /// When the post was made, if it has a number; in nanoseconds.
  let time: UInt64
  /// What is restored where the observers are called.
  let context: PostContext?
  /// The registration that does not hear the post, or 0.
  let skippedID: UInt64

  init(
    tracker: DeliveryTracker?, number: UInt64, time: UInt64, context: PostContext?,
    skippedID: UInt64
  ) {
    self.tracker = tracker
    self.number = number
    self.time = time
    self.context = context
    self.skippedID = skippedID
  }

  /// The details of the same post, with others in some places.
  convenience init(
    _ post: PostDetails?, tracker: DeliveryTracker?, context: PostContext?, skippedID: UInt64? = nil
  ) {
    self.init(
      tracker: tracker, number: post?.number ?? 0, time: post?.time ?? 0, context: context,
      skippedID: skippedID ?? post?.skippedID ?? 0)
  }
}
