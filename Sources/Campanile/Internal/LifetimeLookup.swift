import Synchronization

/// Finds the lifetime of an object, if it has one.
///
/// To find out whether a class conforms to a protocol takes some hundred instructions. Because
/// owners and subjects of one source are nearly always of one class, the last class that does not
/// conform is remembered.
struct LifetimeLookup: ~Copyable, Sendable {
  /// The identity of that class, or 0.
  private let plainClass = Atomic<UInt>(0)

  @inline(__always)
  func lifetime(of object: AnyObject) -> Lifetime.Storage? {
    let identity = UInt(bitPattern: ObjectIdentifier(type(of: object)))
    // Says nothing of other memory, so that no order is needed.
    if plainClass.load(ordering: .relaxed) == identity { return nil }
    return find(in: object, identity)
  }

  @inline(never)
  @_optimize(size)
  private func find(in object: AnyObject, _ identity: UInt) -> Lifetime.Storage? {
    if let owner = object as? any LifetimeOwner { return owner.lifetime.storage }
    plainClass.store(identity, ordering: .relaxed)
    return nil
  }
}
