import Synchronization

/// A reference that is set at most once, by the first thread that sets it.
///
/// Reading it costs a load and a retain, whereas the standard library's `AtomicLazyReference` looks
/// its type up at each reading.
@safe package struct LazyReference<Object: AnyObject & Sendable>: ~Copyable, Sendable {
  /// The address of an object that this owns, or 0.
  private let address = Atomic<UInt>(0)

  package init() {}

  deinit {
    // Pairs with `storeIfNil`.
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring))
    else { return }
    // SAFETY: the stored object was retained for this reference, which no thread uses any more.
    unsafe Unmanaged<Object>.fromOpaque(pointer).release()
  }

  /// The object, once there is one.
  package borrowing func load() -> Object? {
    // Pairs with `storeIfNil`: the object is initialized.
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring))
    else { return nil }
    // SAFETY: the object was retained when it was stored, and is not released before this is.
    return unsafe Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Stores `object` if there is none.
  ///
  /// - Returns: The object that is there now.
  package borrowing func storeIfNil(_ object: Object) -> Object {
    let new = unsafe Unmanaged.passRetained(object)
    // Pairs with `load`: of two threads that store, the second finds the first one's object.
    let (isStored, _) = unsafe address.compareExchange(
      expected: 0, desired: UInt(bitPattern: new.toOpaque()), ordering: .acquiringAndReleasing)
    if isStored { return object }
    // SAFETY: takes back the retain above.
    unsafe new.release()
    return load()!
  }
}
