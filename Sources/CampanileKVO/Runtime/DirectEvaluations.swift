import Campanile

/// The evaluations that properties keep, of all objects, by object and key path.
///
/// To find any other evaluation, its key path is read first. These are found without that, which
/// halves the cost of observing a property again.
enum DirectEvaluations {
  private struct Slot: HasAddressKey, Sendable {
    // Addresses of what the evaluation keeps: the key path, and the memory of the object.
    let root: ObjectIdentifier
    let path: ObjectIdentifier
    let isOnMain: Bool
    let id: ObjectIdentifier
    let evaluation: OwnerReference<Evaluation>

    var addressKey: UInt { UInt(bitPattern: root) }
  }

  /// A part of the table: threads that observe different objects rarely contend for one lock.
  private final class Stripe: Sendable {
    let slots = Locked(AddressBuckets<Slot>())
  }

  private static let stripes = (0..<16).map { _ in Stripe() }

  private static func stripe(of root: ObjectIdentifier) -> Stripe {
    stripes[Int(UInt(bitPattern: root) >> 5) & 15]
  }

  static func find(_ root: ObjectIdentifier, _ request: KVORequest) -> Evaluation? {
    let (path, isOnMain) = (request.path.object, request.isOnMain)
    let slot = stripe(of: root).slots.withLock { slots in
      slots.last(UInt(bitPattern: root)) {
        $0.root == root && $0.path == path && $0.isOnMain == isOnMain
      }
    }
    // Called outside the lock, since it may release an evaluation that nothing else keeps.
    return slot?.evaluation.object
  }

  static func add(_ evaluation: Evaluation) {
    let slot = Slot(
      root: evaluation.rootID, path: evaluation.request.path.object,
      isOnMain: evaluation.request.isOnMain, id: ObjectIdentifier(evaluation),
      evaluation: OwnerReference(evaluation))
    stripe(of: slot.root).slots.withLock { $0.append(slot) }
  }

  /// Removes an evaluation, in its deinit.
  static func remove(_ id: ObjectIdentifier, of root: ObjectIdentifier) {
    var removed: Slot?
    stripe(of: root).slots.withLock { removed = $0.remove(UInt(bitPattern: root)) { $0.id == id } }
    withExtendedLifetime(removed) {}
  }
}
