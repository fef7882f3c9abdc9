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
    let id: ObjectIdentifier
    /// A caller that asks for the evaluation has the object, and so is in its isolation.
    let evaluation: OwnerReference<Evaluation>

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
    var found: OwnerReference<Evaluation>?
    stripe(of: root).slots.withLock { slots in
      for slot in slots[UInt(bitPattern: root)]
      where slot.root == root && slot.path == request.path.object
        && slot.isOnMain == request.isOnMain
      {
        found = slot.evaluation
      }
    }
    // Called outside the lock, since it may release an evaluation that nothing else keeps.
    return found?.object
  }

  static func add(_ evaluation: Evaluation) {
    let request = evaluation.request
    let slot = Slot(
      root: evaluation.rootID, path: request.path.object, isOnMain: request.isOnMain,
      id: ObjectIdentifier(evaluation), evaluation: OwnerReference(evaluation))
    stripe(of: slot.root).slots.withLock { $0.append(slot) }
  }

  /// Removes an evaluation, in its deinit.
  static func remove(_ evaluation: Evaluation) {
    let (key, id) = (UInt(bitPattern: evaluation.rootID), ObjectIdentifier(evaluation))
    var removed: Slot?
    stripe(of: evaluation.rootID).slots.withLock { removed = $0.remove(key) { $0.id == id } }
    withExtendedLifetime(removed) {}
  }
}
