/// What a post tells an observer besides the value.
///
/// Sendable although the subject need not be. Nobody looks at it but observers that are told it:
/// where the value is posted, and elsewhere if its type is Sendable. What is sent on for others is
/// without it.
@safe struct Post: @unchecked Sendable {
  // SAFETY: who posts keeps the subject until the post returns, and `kept` does in what outlives
  // it. To retain it for each post would be the most expensive thing that a post does.
  private let borrowed: Unmanaged<AnyObject>?
  private var kept: AnyObject?
  /// Who waits for the deliveries of this post, if anybody does.
  var tracker: DeliveryTracker?

  /// A post about `subject`, which the caller keeps for as long as the post and its copies live.
  @inline(__always)
  init(subject: AnyObject) { unsafe borrowed = Unmanaged.passUnretained(subject) }

  /// The same, where there may be a subject.
  @inline(__always)
  init(_ subject: AnyObject?) {
    unsafe borrowed = subject.map { unsafe Unmanaged.passUnretained($0) }
  }

  @inline(__always)
  init(tracker: DeliveryTracker? = nil) {
    unsafe borrowed = nil
    self.tracker = tracker
  }

  /// Which instance the message is about.
  @inline(__always)
  var subjectID: ObjectIdentifier? {
    // SAFETY: as above.
    unsafe borrowed.map { unsafe $0._withUnsafeGuaranteedRef { ObjectIdentifier($0) } }
  }

  /// The instance that the message is about.
  var subject: AnyObject? { unsafe borrowed?.takeUnretainedValue() }

  /// The same for what outlives the post.
  ///
  /// A subject in its deinit cannot be kept: observers that are called later get `nil`.
  ///
  /// - Parameter isTold: whether somebody is told the subject there.
  func kept(isTold: Bool) -> Post {
    guard isTold, let subject, !isDeinitializing(subject) else { return Post(tracker: tracker) }
    var post = self
    post.kept = subject
    return post
  }
}
