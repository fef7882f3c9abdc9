/// Who tells the changes of a current value, in which order: it decides, and `StateStorage` acts.
///
/// It has no lock, no thread and no value. The storage asks it with the lock held that protects the
/// value too.
///
/// One thread tells at a time. The others leave their changes to it, and it tells them in the order of
/// the sets. It may offer what waits to the next thread that comes.
struct CurrentValueState: ~Copyable {
  /// Counts the sets.
  private(set) var revision: UInt64 = 0
  /// Whether a thread tells changes, and goes on with those that wait.
  private var isTelling = false
  /// The changes that the thread which tells has not come to.
  private var waiting = RecordBuffer()

  /// Who tells a change.
  enum Turn {
    /// The thread that brings it, and before it nothing waits.
    case first
    /// That thread too, behind what waits: it is to keep the change, and to go on.
    case next
    /// Another thread is at it: the change is to be kept.
    case others
  }

  /// Counts a set.
  ///
  /// - Parameter isHeard: Whether anybody follows.
  /// - Returns: Who tells the change, if anybody is told.
  @inline(__always)
  mutating func set(_ isHeard: @autoclosure () -> Bool) -> Turn? {
    revision &+= 1
    return isTelling || isHeard() ? takeTurn() : nil
  }

  /// Decides who tells what is new.
  @inline(__always)
  mutating func takeTurn() -> Turn {
    if isTelling { return .others }
    isTelling = true
    return waiting.isEmpty ? .first : .next
  }

  /// Keeps a change for the thread that tells.
  mutating func keep<Notice>(_ notice: Notice) { waiting.append(Envelope(), notice) }

  /// Ends the turn of the thread that tells, if nothing waits.
  ///
  /// - Returns: Whether its turn is over; if not, it is to go on.
  @inline(__always)
  mutating func stop() -> Bool {
    isTelling = !waiting.isEmpty
    return !isTelling
  }

  /// Takes out the oldest change that waits, or ends the turn of the thread that tells.
  mutating func next<Notice>() -> Notice? {
    if stop() { return nil }
    var envelope = Envelope()
    return .some(waiting.takeFirst(&envelope))
  }

  /// Offers what waits to the next thread that comes.
  mutating func offer() { isTelling = false }

  /// Takes an offer back.
  ///
  /// - Returns: Whether the thread that made it is to go on: nobody has come, and something waits.
  mutating func takeBack() -> Bool {
    if isTelling || waiting.isEmpty { return false }
    isTelling = true
    return true
  }

  /// Gives what waits to a batch that is to be released: nobody will tell it.
  mutating func giveUp(_ batch: inout RecordBuffer) { swap(&waiting, &batch) }
}
