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
  func known(after count: UInt) -> AnyObject? {
    if count == state.count { return told }
    let next = compared.first { $0.count == count &+ 1 }
    return (next ?? compared.last)?.known
  }

  /// Records the next delivered value, and the value known before.
  func compare(_ new: AnyObject, with known: AnyObject?) {
    compared.append((state.count, depth, known))
    told = new
  }

  /// Records that a change has been delivered.
  func forgetTold(from depth: Int) {
    while let last = compared.last, last.depth >= depth { compared.removeLast() }
    if compared.isEmpty { told = nil }
  }

  /// Records that an observer that compares values receives the change.
  func keepTold() {
    var told = told
    if told != nil { keeper.withLock { $0.keepTold(&told) } }
  }
}
