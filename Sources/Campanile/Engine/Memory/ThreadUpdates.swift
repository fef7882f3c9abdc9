/// The calling thread's place in the updates of current values.
///
/// A thread inside the update of one current value may use another one, and waits while another
/// thread updates that. Threads that do so crosswise would wait forever. So a thread that waits
/// inside an update says for what, and the thread that closes the circle ends the process with a
/// sentence. Nothing is noted of a thread that waits outside of updates, which keeps nobody waiting.
@safe struct ThreadUpdates {
  /// Returns the thread that updates a current value, or 0.
  typealias Updater = @Sendable () -> UInt

  /// For each thread that waits inside an update, the updater of what it waits for.
  private static let waits = Locked<[UInt: Updater]>(.init())

  // SAFETY: the calling thread's own record, which is never freed.
  private let record: UnsafeMutablePointer<ThreadRecord>

  init() { unsafe record = ThreadRecord.current }

  var thread: UInt { unsafe UInt(bitPattern: record) }

  /// Whether the thread is inside an update.
  var isInside: Bool { unsafe record.pointee.updateCount > 0 }

  func beginUpdate() { unsafe record.pointee.updateCount += 1 }

  func endUpdate() { unsafe record.pointee.updateCount -= 1 }

  /// Notes that the thread, which is inside an update, is about to wait for a current value.
  func beginWait(for updater: @escaping Updater) {
    let isCircle = Self.waits.withLock { waits in
      waits.put(updater, for: thread)
      var next = updater()
      // A thread that is found here waits, so that what it updates shows it as the updater.
      while let awaited = waits[next] {
        if next == thread { return true }
        next = awaited()
      }
      return false
    }
    require(
      !isCircle,
      "Two threads wait for each other: each is inside update(_:) of a current value, and uses the "
        + "one that the other updates. Read the other value before the update")
  }

  /// Notes that the thread has what it waited for.
  ///
  /// With its lock held: no other thread may update the value while this one seems to wait for it.
  func endWait() { Self.waits.withLock { $0.put(nil, for: thread) } }
}
