import Campanile
import Synchronization

/// The values that observers know, of those that compare, and the value now.
extension Evaluation {
  /// Whether a change has been told since the prior call was made that is being made.
  var isPriorStale: Bool { priorMark.load(ordering: .relaxed) != state.count }

  /// The same change with the value as it is now: another change was told meanwhile.
  func renewed<Value>(_ change: KVOChange<Value>) -> KVOChange<Value> {
    // It is that of a change's list.
    guard let newest = newest as? OldValue<Value> else { return change }
    return change.renewed(newest.value)
  }

  /// The box of the value that an observer knows that was told `count` changes, of those that are being told
  /// now.
  func known(after count: UInt) -> AnyObject? {
    if count == state.count { return told }
    let next = compared.first { $0.count == count &+ 1 }
    return (next ?? compared.last)?.known
  }

  /// Takes in what is told next, and what was known before.
  func compare(_ new: AnyObject, with known: AnyObject?) {
    compared.append((state.count, depth, known))
    told = new
  }

  /// Takes in that a change has been told.
  func forgetTold(from depth: Int) {
    while let last = compared.last, last.depth >= depth { compared.removeLast() }
    if compared.isEmpty { told = nil }
  }

  /// Takes in that an observer which compares is told the change.
  func keepTold() {
    var told = told
    if told != nil { keeper.withLock { $0.keepTold(&told) } }
  }
}
