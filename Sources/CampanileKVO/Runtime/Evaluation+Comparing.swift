import Campanile
import Synchronization

/// For observers that compare values: the values they know, and the current value.
extension Evaluation {
  /// Records that the value for a prior call is about to be read.
  func beginPrior() {
    let (thread, mark) = (SourceRegistry.currentThread, state.count)
    priors.withLock { $0.append((thread, mark)) }
  }

  func endPrior() {
    let thread = SourceRegistry.currentThread
    priors.withLock { priors in
      if let index = priors.lastIndex(where: { $0.thread == thread }) { priors.remove(at: index) }
    }
  }

  /// Whether the current transaction has made a change, and so its prior call.
  var isDeferred: Bool {
    guard let transaction = Scope.current?.transaction else { return false }
    return keeper.withLock { $0.isDeferred(for: ObjectIdentifier(transaction)) }
  }

  /// Whether a change has been delivered since this thread has read the value of its prior call.
  var isPriorStale: Bool {
    let thread = SourceRegistry.currentThread
    let mark = priors.withLock { priors in priors.last { $0.thread == thread }?.mark }
    return mark.map { $0 != state.count } ?? false
  }

  /// The same change with the current value, because another change has been delivered meanwhile.
  func renewed<Value>(_ change: KVOChange<Value>) -> KVOChange<Value> {
    // The box has the value type of the list of observers.
    guard let newest = newest as? OldValue<Value> else { return change }
    return change.renewed(newest.value)
  }

  /// The box of the value that an observer knows after `count` changes.
  ///
  /// Only the changes that are being delivered are considered.
  ///
  /// - Returns: The box, and the number of the change that has read the value, or 0 if it was
  ///   delivered.
  func known(after count: UInt) -> (value: AnyObject, before: UInt)? {
    if count == state.count { return told.map { ($0, 0) } }
    // Nobody has received the changes in between if none of them was read. If one was, the observer was
    // paused.
    let next = compared.first { $0.count > count && $0.since <= count }
    guard let entry = next ?? compared.last else { return nil }
    return entry.known.map { ($0, entry.before) }
  }

  /// Records the next delivered value, and the value known before, which the change `before` has
  /// read.
  func compare(_ new: AnyObject, with known: AnyObject?, before: UInt) {
    compared.append((comparedCount, state.count, depth, known, before))
    comparedCount = state.count
    told = new
  }

  /// Records that a change has been delivered.
  func forgetTold(from depth: Int) {
    while let last = compared.last, last.depth >= depth { compared.removeLast() }
    if compared.isEmpty { told = nil }
  }

  /// Whether a change may have begun that has not been delivered.
  var mayBeBusy: Bool { keeper.withLock { $0.mayBeBusy } }

  /// Records the value that an observer joins at, if a change may be in progress.
  func join(_ value: AnyObject?, by seat: ObserverSeat) {
    var value = value
    keeper.withLock { $0.join(&value, by: ObjectIdentifier(seat)) }
  }

  /// The box of the value that an observer joined at, while a change is in progress that was then.
  ///
  /// Only for an observer that has received no change.
  func joined(by seat: ObserverSeat) -> AnyObject? {
    keeper.withLock { $0.joined(by: ObjectIdentifier(seat)) }
  }

  /// Records that an observer knows the value of the change already.
  ///
  /// A different value, which has been delivered to others alone, is not what observers know any more.
  func replaceTold() {
    var told = told
    if told != nil { keeper.withLock { $0.replaceTold(&told) } }
  }

  /// Records that an observer that compares values receives the change.
  func keepTold() {
    var told = told
    if told != nil { keeper.withLock { $0.keepTold(&told) } }
  }
}
