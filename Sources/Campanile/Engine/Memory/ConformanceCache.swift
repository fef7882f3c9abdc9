import Synchronization

/// Finds out what an object offers by a conformance to a protocol, if it has that.
///
/// To find out whether a class conforms to a protocol takes some hundred instructions. Because the
/// owners and the subjects of one source are nearly always of one class, the last class that does not
/// conform is remembered.
struct ConformanceCache: ~Copyable, Sendable {
  /// The identity of that class, or 0.
  private let plainClass = Atomic<UInt>(0)

  /// - Parameter find: Returns what the object offers; `nil` if its class does not conform.
  func find<Offer>(in object: AnyObject, _ find: (AnyObject) -> Offer?) -> Offer? {
    let identity = UInt(bitPattern: ObjectIdentifier(type(of: object)))
    // No pair: it says nothing of other memory.
    if plainClass.load(ordering: .relaxed) == identity { return nil }
    if let offer = find(object) { return offer }
    // No pair: as above.
    plainClass.store(identity, ordering: .relaxed)
    return nil
  }
}
