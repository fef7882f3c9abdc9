import Campanile

/// The direct evaluations of all objects.
///
/// A direct evaluation is that of a key path with one component, a property of its object.
///
/// To find the evaluation of any other key path, the key path has to be read: it may lead to other
/// properties than before. A direct evaluation is found without a read.
enum DirectEvaluations {
  private struct Slot: HasAddressKey, Sendable {
    // These are addresses of living objects: the evaluation keeps the key path, and a reference to
    // the memory of the observed object.
    let root: ObjectIdentifier
    let path: ObjectIdentifier
    let isOnMain: Bool
    /// Knows the evaluation.
    ///
    /// A caller that asks for the evaluation has the object, and so is in its isolation.
    let state: EvaluationState

    var addressKey: UInt { UInt(bitPattern: root) }
  }

  /// A part of the table.
  ///
  /// Threads that observe different objects rarely contend for one lock.
  private final class Stripe: Sendable {
    let slots = Locked(AddressBuckets<Slot>())
  }

  private static let stripes = (0..<16).map { _ in Stripe() }

  private static func stripe(of root: ObjectIdentifier) -> Stripe {
    stripes[Int(UInt(bitPattern: root) >> 5) & 15]
  }

  /// The evaluation of a key path of an object, if it was added with the same key path object.
  static func find(_ root: ObjectIdentifier, _ request: KVORequest) -> Evaluation? {
    let (path, isOnMain) = (request.path.object, request.isOnMain)
    let slot = stripe(of: root).slots.withLock { slots in
      slots.last(UInt(bitPattern: root)) {
        $0.root == root && $0.path == path && $0.isOnMain == isOnMain
      }
    }
    // Called outside the lock, since it may release an evaluation that nothing else keeps.
    return slot?.state.evaluation
  }

  static func add(_ evaluation: Evaluation) {
    let request = evaluation.request
    let slot = Slot(
      root: evaluation.rootID, path: request.path.object, isOnMain: request.isOnMain,
      state: evaluation.state)
    stripe(of: slot.root).slots.withLock { $0.append(slot) }
  }

  /// Removes an evaluation, in its deinit.
  static func remove(_ evaluation: Evaluation) {
    let (key, state) = (UInt(bitPattern: evaluation.rootID), evaluation.state)
    var removed: Slot?
    stripe(of: evaluation.rootID).slots.withLock { removed = $0.remove(key) { $0.state === state } }
    withExtendedLifetime(removed) {}
  }
}
