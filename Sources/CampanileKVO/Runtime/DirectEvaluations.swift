import Campanile

/// The evaluations of key paths that are one property of their object, of all objects.
///
/// An evaluation of any other key path is found by what the key path reads now, which may be other
/// properties than before. These need not be read to be found.
enum DirectEvaluations {
  private struct Slot: HasAddressKey, Sendable {
    // The addresses are those of living memory: the evaluation keeps the key path, and what is left of the
    // object.
    let root: ObjectIdentifier
    let path: ObjectIdentifier
    let isOnMain: Bool
    let id: ObjectIdentifier
    /// Who is asked for it has the object, and so is in its isolation.
    let evaluation: OwnerReference<Evaluation>

    var addressKey: UInt { UInt(bitPattern: root) }
  }

  /// Some of them: threads that observe different objects seldom meet at one lock.
  private final class Stripe: Sendable {
    let slots = Locked(AddressBuckets<Slot>())
  }

  private static let stripes = (0..<16).map { _ in Stripe() }

  private static func stripe(of root: ObjectIdentifier) -> Stripe {
    stripes[Int(UInt(bitPattern: root) >> 5) & 15]
  }

  /// The evaluation of a key path of an object, if it is known by the same key path object.
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
    // Asked outside the lock: what is not kept any more ends here.
    return found?.object
  }

  static func add(_ evaluation: Evaluation) {
    let request = evaluation.request
    let slot = Slot(
      root: evaluation.rootID, path: request.path.object, isOnMain: request.isOnMain,
      id: ObjectIdentifier(evaluation), evaluation: OwnerReference(evaluation))
    stripe(of: slot.root).slots.withLock { $0.append(slot) }
  }

  /// Takes out an evaluation, in its deinit.
  static func remove(_ evaluation: Evaluation) {
    let (key, id) = (UInt(bitPattern: evaluation.rootID), ObjectIdentifier(evaluation))
    var removed: Slot?
    stripe(of: evaluation.rootID).slots.withLock { removed = $0.remove(key) { $0.id == id } }
    withExtendedLifetime(removed) {}
  }
}
