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
