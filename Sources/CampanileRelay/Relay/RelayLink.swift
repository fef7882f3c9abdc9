package import Dispatch

/// The transport of one relay's messages.
///
/// A relay passes operations to its link, in order, on the link's queue. The link passes incidents
/// to the receiver on that queue too, and the receiver calls no foreign code there.
package protocol RelayLink: Sendable {
  /// The serial queue that everything runs on.
  var queue: DispatchQueue { get }
  /// The place in the paths of messages that the carrier is.
  var step: UInt64 { get }
  /// Connects, and continues to try.
  func start(_ receiver: any RelayReceiver)
  /// Performs operations in order, on the queue.
  func perform(_ operations: [RelayOperation])
  /// Whether the receiver takes incidents; on the queue.
  func setReading(_ reads: Bool)
  /// Disconnects. The receiver is called no more once this has run on the queue.
  func stop()
}

/// The operations that a relay requests from its link.
package enum RelayOperation: Sendable {
  /// Each message of a group is sent to one of the relays that name it.
  case subscribe(String, group: String? = nil)
  case unsubscribe(String, group: String? = nil)
  case answer(String)
  case stopAnswering(String)
  case posts(RelayPosts)
  case request(
    correlation: UInt64, subject: String, version: UInt32, payload: [UInt8], milliseconds: UInt32)
  /// The ends of these requests and flushes are no longer awaited.
  ///
  /// Those that have not been sent are not sent.
  case forget(Set<UInt64>)
  case reply(to: UInt64, correlation: UInt64, AnswerStatus, payload: [UInt8])
  /// Answered when the earlier posts are taken, and the requested subscriptions are in force.
  case flush(UInt64)
  /// Answered when the earlier posts are taken.
  case flushPosts(UInt64)
  /// The relay ends: messages that are stored for it stay there for its next run.
  case endHearing
}

/// The incidents that a link reports to its relay, on the link's queue.
package enum RelayIncident: Sendable {
  case message(
    sender: UInt64, subject: String, version: UInt32, path: [UInt64], payload: [UInt8])
  /// A message whose delivery the link awaits, for the observers of this relay that named a group, or for
  /// those outside groups.
  ///
  /// `done` is called once it has been delivered, to observers on queues and in tasks too, or at
  /// once with `false` if no observer here takes it any more.
  indirect case awaited(
    group: String?, sender: UInt64, subject: String, version: UInt32, path: [UInt64],
    payload: [UInt8], done: @Sendable (Bool) -> Void)
  case request(
    from: UInt64, correlation: UInt64, subject: String, version: UInt32, payload: [UInt8])
  case reply(correlation: UInt64, AnswerStatus, payload: [UInt8])
  case flushed(UInt64)
  /// So many messages of this relay had no receiver.
  case unheard(Int)
  case lost(sender: UInt64?, subject: String?, count: Int?, String)
  /// The carrier, which is a part of this relay, has closed a connection; the reason is a sentence.
  case sentAway(String)
  case connected
  /// The link has no connection; the reason is a sentence, or an empty text.
  ///
  /// An interruption is the end of a connection that was open: the next attempt follows at once.
  case disconnected(String, isInterruption: Bool = false)
  case peers([RelayPeer])
  /// The sender of the next messages, though it may have left the bus.
  case sender(RelayPeer)
  /// A message cannot travel; the reason is a sentence.
  case refused(subject: String, String)
  /// The carrier doesn't permit what was asked; the reason is a sentence.
  case denied(subject: String?, String)
}

/// The receiver of the incidents of a link.
package protocol RelayReceiver: Sendable {
  func receive(_ incidents: consuming [RelayIncident])
  /// Whether something has been delivered since this was asked the last time; on the link's queue.
  func hasGoneOn() -> Bool
}
