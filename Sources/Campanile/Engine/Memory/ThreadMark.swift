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
    // SAFETY: the record is the thread's own, and owns one reference, which its release gives back.
    unsafe ThreadRecord.current.pointee.mark = .passRetained(mark)
    return mark
  }

  /// Whether this is the calling thread's mark.
  package var isCurrent: Bool { Self.existing === self }

  /// Calls `action` when the thread ends, on the thread, or now if it has ended.
  package func onEnd(_ action: @escaping @Sendable () -> Void) {
    lifetime.add(action)
  }

  private static var existing: ThreadMark? {
    // SAFETY: as above.
    unsafe ThreadRecord.current.pointee.mark?.takeUnretainedValue()
  }

  /// Notes that the thread ends; its record has let go of the mark.
  func end() { lifetime.end() }
}
