import Campanile
import Synchronization

/// For observers that compare values: the values they know, and the current value.
extension Evaluation {
  /// Records that the value for a prior call is about to be read.
  ///
  /// While other prior calls are in progress, their mark stays: they may be outdated. If the newer
  /// call then seems outdated too, it gets the current value, as it should.
  func beginPrior() {
    if priorCount.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue == 0 {
      priorMark.store(state.count, ordering: .relaxed)
    }
  }

  func endPrior() { priorCount.wrappingSubtract(1, ordering: .acquiringAndReleasing) }

  /// Whether a change may have been delivered since the value of a prior call was read.
  var isPriorStale: Bool { priorMark.load(ordering: .relaxed) != state.count }

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
