/// Whether memory that was freed is given out again soon, which allocators that look for mistakes
/// avoid.
package func reusesAddresses() -> Bool {
  #if TSAN
    return false
  #else
    struct Plain { var number = 1 }
    func address() -> ObjectIdentifier { ObjectIdentifier(Plain() as AnyObject) }
    let first = address()
    return (0..<1_000).contains { _ in address() == first }
  #endif
}
