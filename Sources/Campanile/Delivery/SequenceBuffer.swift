/// The values that wait for one reader, or the reader that waits.
///
/// It is not generic, because generic code looks up every type that it derives, which would take
/// longer than everything else.
final class SequenceBuffer: Sendable {
  private let state: Locked<MailboxState>
  /// The reader, from before the state says that it waits until it is woken.
  private let reader = Locked<CheckedContinuation<Void, Never>?>(nil)
  private let counters = DeliveryCounters()

  init(_ buffering: Buffering) {
    buffering.checkCapacity()
    state = Locked(MailboxState(buffering, isRead: true))
  }

  // The stored values have no reader left.
  deinit { finish(isCancelled: true) }

  /// The counts of the registration that fills and keeps the buffer.
  var counts: BufferCounts {
    BufferCounts(counters: counters) { [self] in state.withLock { $0.waitingCount } }
  }

  func append<Element: Sendable>(_ element: Element) {
    // A dropped value is handed back, and released outside the lock.
    var (element, envelope, wake) = (element, Envelope(), Urgency?.none)
    let admission = state.withLock { $0.admit(&envelope, &element, &wake, by: .medium) }
    if wake != nil { self.wake() }
    if let admission, admission != .free { counters.countDrop() }
  }

  /// The next element, or `nil` at the end, at once in a canceled task.
  func next<Element: Sendable>() async -> Element? {
    while !Task.isCancelled {
      // A stored value is read without a continuation, which would be an allocation.
      do {
        let element: Element = try read()
        return element
      } catch {
        if error.isFinal { return nil }
      }
      await wait()
    }
    finish(isCancelled: true)
    return nil
  }

  /// The oldest element that is there.
  ///
  /// It throws where it might return `nil`: an optional would be one of the types to look up.
  private func read<Element: Sendable>() throws(MailboxState.IsEmpty) -> Element {
    try state.withLock { state throws(MailboxState.IsEmpty) in try state.read() }
  }

  /// Waits until something has arrived, or nothing will arrive any more.
  private func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        reader.withLock { $0 = continuation }
        if !state.withLock({ $0.wait() }) { wake() }
      }
    } onCancel: {
      // The reader discards what is left: here, the runtime holds a lock.
      finish()
    }
  }

  private func wake() { reader.withLock { $0.take() }?.resume() }

  /// Ends the sequence; stored values can still be read, unless the reader's task was canceled.
  func finish(isCancelled: Bool = false) {
    if state.withLock({ $0.finish() }) { wake() }
    guard isCancelled else { return }
    var left = RecordBuffer()
    while state.withLock({ $0.giveUp(&left) }) { left.discardAll() }
  }
}
