internal import CampanileRuntime

/// A reference that does not keep its object alive, and returns it only while its deinit has not
/// begun.
///
/// A weak reference promises the same, but costs three times as much to read. It also moves the
/// object's reference count into a side table, which makes each later retain and release of the
/// object permanently slower. So an object that Swift counts is referred to by its memory. An
/// unowned reference reserves the memory, and the runtime retains the object unless its deinit has
/// begun. The memory of a dead object is freed with the last reference.
///
/// Other objects are held weakly: those that Swift does not count, and all of them if the package is
/// built with `-Xswiftc -DWEAK_OWNERS`.
@safe
package struct OwnerReference<Object: AnyObject>: @unchecked Sendable {
  // SAFETY: the object is used as what it is, on the thread that asks; who makes a reference to an
  // object that is not Sendable hands the object to no other thread.

  // Not an optional: of an optional unowned reference in an optional structure, Swift 6.3 releases
  // an object that is not there.
  /// Reserves the memory of an object that Swift counts; never read.
  private unowned let memory: AnyObject
  /// The address of that memory, if the object is referred to by it.
  private let address: UnsafeMutableRawPointer?
  private let weak: WeakReference?

  package init(_ object: Object) {
    // An optimized build may have put an object in its deinit on the stack, which nothing reserves.
    if isDeinitializing(object) {
      (memory, weak) = (nobody, nil)
      unsafe address = nil
    } else if Self.isHeldWeakly(object) {
      (memory, weak) = (nobody, WeakReference(object))
      unsafe address = nil
    } else {
      (memory, weak) = (object, nil)
      unsafe address = Unmanaged.passUnretained(object).toOpaque()
    }
  }

  /// The object, or `nil` if its deinit has begun.
  package var object: Object? {
    get {
      guard let address = unsafe address else { return weakObject }
      // SAFETY: `memory` reserves what is there, an object that Swift counts.
      guard let retained = unsafe swift_tryRetain(address) else { return nil }
      // SAFETY: the object was one of this type when the reference was made; this is the retain above.
      return unsafe Unmanaged<Object>.fromOpaque(retained).takeRetainedValue()
    }
  }

  /// Returns a closure that passes the object on with a value, or asks for the end of the registration
  /// if the object has gone.
  func bind<Value>(
    _ observer: @escaping @Sendable (Object, Value) throws -> Void
  ) -> @Sendable (Value) throws -> Void {
    { value in
      guard let object else { throw ObservationIsOver() }
      try observer(object, value)
    }
  }

  /// Whether this is a reference to `object`, which the caller keeps.
  package func refers(to object: Object) -> Bool {
    guard let address = unsafe address else { return weakObject === object }
    // While the memory is reserved, no other object has its address.
    return unsafe address == Unmanaged.passUnretained(object).toOpaque()
  }

  /// The reference to an object of any class.
  package var erased: OwnerReference<AnyObject> {
    // SAFETY: the stored properties are the same, whatever the class.
    unsafe unsafeBitCast(self, to: OwnerReference<AnyObject>.self)
  }

  @inline(never)
  private var weakObject: Object? {
    // SAFETY: the object was one of this type when the reference was made.
    weak?.object.map { unsafe unsafeDowncast($0, to: Object.self) }
  }

  private static func isHeldWeakly(_ object: Object) -> Bool {
    #if WEAK_OWNERS
      true
    #else
      !isCountedBySwift(object)
    #endif
  }

  private final class WeakReference {
    weak let object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
  }
}
