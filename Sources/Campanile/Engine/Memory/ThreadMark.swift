/// Represents a thread as an object, which is notified of the thread's end.
///
/// It is created when a thread first needs it, and may outlive the thread. Unlike the number of a
/// thread, it is never reused for another thread.
package final class ThreadMark: Sendable {
  private let lifetime = EndActions()

  private init() {}

  /// The calling thread's mark, made when it is asked for first.
  package static var current: ThreadMark {
    if let mark = existing { return mark }
    let mark = ThreadMark()
    // SAFETY: the slot owns one reference, which the destructor gives back.
    unsafe slot.value = Unmanaged.passRetained(mark).toOpaque()
    return mark
  }

  /// Whether this is the calling thread's mark.
  package var isCurrent: Bool { Self.existing === self }

  /// Calls `action` when the thread ends, on the thread, or now if it has ended.
  package func onEnd(_ action: @escaping @Sendable () -> Void) {
    lifetime.add(action)
  }

  private static var existing: ThreadMark? {
    guard let pointer = unsafe slot.value else { return nil }
    // SAFETY: the slot holds nothing but a mark.
    return unsafe Unmanaged<ThreadMark>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func end(_ pointer: UnsafeMutableRawPointer?) {
    guard let pointer = unsafe pointer else { return }
    // SAFETY: as in `existing`; the slot is empty from here on.
    unsafe Unmanaged<ThreadMark>.fromOpaque(pointer).takeRetainedValue().lifetime.end()
  }

  private static let slot = unsafe ThreadSlot { unsafe ThreadMark.end($0) }
}
