/// A reference that does not keep its object alive, and returns it as the class or protocol it was
/// handed in as, only while its deinit has not begun.
///
/// A cast of the object to a protocol costs more than the rest of a call, so the value itself is
/// stored, without the reference count that a copy of it would hold.
@safe
final class InstanceReference: @unchecked Sendable {
  // SAFETY: as for `OwnerReference`, the object is used where the value may be used.
  private let object: OwnerReference<AnyObject>
  private let value: UnsafeMutableRawPointer

  /// - Parameters:
  ///   - value: An instance of a class, or an existential that contains one.
  ///   - type: The type that the value is stored as. If it were inferred, the compiler would open an
  ///     existential, and store the instance alone.
  init<Value>(_ value: Value, as type: Value.Type) {
    let object = value as AnyObject
    self.object = OwnerReference(object)
    // SAFETY: deallocated in the deinit; not deinitialized, because the count that it holds is given
    // back here. Nothing else in such a value is counted.
    let place = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    unsafe place.initialize(to: value)
    unsafe self.value = UnsafeMutableRawPointer(place)
    unsafe Unmanaged.passUnretained(object).release()
  }

  deinit { unsafe value.deallocate() }

  /// Hands the place of the value to `body`, unless the deinit of the object has begun.
  ///
  /// - Returns: Whether it has done so.
  func use(_ body: (UnsafeRawPointer) -> Void) -> Bool {
    guard let kept = object.object else { return false }
    defer { extendLifetime(kept) }
    // SAFETY: the object lives meanwhile, because `kept` retains it.
    unsafe body(UnsafeRawPointer(value))
    return true
  }
}
