/// Decides which thread notifies the followers of a current value, and in which order.
///
/// `StateStorage` acts on its decisions. This state has no lock, no thread and no value. The
/// storage calls it with the lock held that also protects the value.
///
/// One thread notifies at a time. The other threads queue their changes, and the notifying thread
/// delivers them in the order of the sets. It may offer the queue to the next thread that sets the
/// value.
struct CurrentValueState: ~Copyable {
  /// Counts the sets.
  private(set) var revision: UInt64 = 0
  /// Whether a thread is notifying, and will continue with the queued changes.
  private var isTelling = false
  /// The queued changes.
  private var waiting = RecordBuffer()

  /// Which thread delivers a change.
  enum Turn {
    /// The thread that made the change; nothing is queued before it.
    case first
    /// The thread that made the change, after queued changes: it queues the change and drains the
    /// queue.
    case next
    /// Another thread is notifying: the change is queued.
    case others
  }

  /// Counts a set.
  ///
  /// - Parameter isHeard: Whether there are followers.
  /// - Returns: Which thread delivers the change, or `nil` without followers.
  @inline(__always)
  mutating func set(_ isHeard: @autoclosure () -> Bool) -> Turn? {
    revision &+= 1
    return isTelling || isHeard() ? takeTurn() : nil
  }

  /// Decides which thread delivers a new change.
  @inline(__always)
  mutating func takeTurn() -> Turn {
    if isTelling { return .others }
    isTelling = true
    return waiting.isEmpty ? .first : .next
  }

  /// Queues a change for the notifying thread.
  mutating func keep<Notice>(_ notice: Notice) { waiting.append(Envelope(), notice) }

  /// Whether no change is being delivered or queued.
  var isIdle: Bool { !isTelling && waiting.isEmpty }

  /// Ends the turn of the notifying thread, if nothing is queued.
  ///
  /// - Returns: Whether its turn is over; if not, it continues.
  @inline(__always)
  mutating func stop() -> Bool {
    isTelling = !waiting.isEmpty
    return !isTelling
  }

  /// Removes and returns the oldest queued change, or ends the turn of the notifying thread.
  mutating func next<Notice>() -> Notice? {
    if stop() { return nil }
    var envelope = Envelope()
    return .some(waiting.takeFirst(&envelope))
  }

  /// Offers the queue to the next thread that sets the value.
  mutating func offer() { isTelling = false }

  /// Takes an offer back.
  ///
  /// - Returns: Whether the thread that made the offer continues: no other thread took it, and the
  ///   queue is not empty.
  mutating func takeBack() -> Bool {
    if isTelling || waiting.isEmpty { return false }
    isTelling = true
    return true
  }

  /// Moves the queue to a batch, which the caller releases without delivering it.
  mutating func giveUp(_ batch: inout RecordBuffer) { swap(&waiting, &batch) }
}
