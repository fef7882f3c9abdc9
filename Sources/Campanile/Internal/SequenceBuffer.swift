/// What waits for one reader, or the reader that waits.
///
/// Only what wakes a reader that waits depends on the type of the elements: generic code looks up
/// every type made of `Element` that it names, which takes longer than all the rest.
final class SequenceBuffer<Element: Sendable>: Sendable {
  /// A reader that waits.
  private final class Reader: SequenceReader {
    let continuation: CheckedContinuation<Element?, Never>
    init(_ continuation: CheckedContinuation<Element?, Never>) { self.continuation = continuation }
  }

  private let state: Locked<SequenceState>
  private let counters: DeliveryCounters

  init(_ buffering: Buffering, _ counters: DeliveryCounters) {
    state = Locked(SequenceState(buffering))
    self.counters = counters
  }

  deinit {
    // Nobody is left to read what has gathered.
    finish(isCancelled: true)
  }

  /// What can be asked of the registration that fills the buffer, which keeps it.
  var counts: BufferCounts {
    BufferCounts(counters: counters) { [self] in state.withLock { $0.count } }
  }

  func append(_ element: Element) {
    // What is dropped is here afterwards, and released outside the lock.
    var element = element
    switch state.withLock({ $0.append(&element) }) {
    case .keep, .ignore: break
    case .drop: counters.countDrop()
    case .resume(let reader): resume(reader, element)
    }
  }

  @inline(never)
  private func resume(_ reader: any SequenceReader, _ element: Element?) {
    // A buffer has readers of its own elements.
    (reader as! Reader).continuation.resume(returning: element)
  }

  /// The next element, or `nil` at the end, at once in a canceled task.
  func next() async -> Element? {
    if Task.isCancelled {
      finish(isCancelled: true)
      return nil
    }
    // What is there is read without a continuation, which would be an allocation.
    do { return try take() } catch { return await wait() }
  }

  /// The oldest element that is there.
  ///
  /// It throws where it might return `nil`: an optional would be one of the types to look up.
  private func take() throws(SequenceState.IsEmpty) -> Element {
    try state.withLock { state throws(SequenceState.IsEmpty) in try state.take() }
  }

  private func wait() async -> Element? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        switch state.withLock({ $0.wait(Reader(continuation)) }) {
        case .wait: break
        case .take: continuation.resume(returning: try? take())
        case .end: continuation.resume(returning: nil)
        }
      }
    } onCancel: {
      finish(isCancelled: true)
    }
  }

  /// Ends the sequence: what has gathered is still read, unless the reader's task was canceled.
  func finish(isCancelled: Bool = false) {
    var left = RecordBuffer()
    let reader = state.withLock { $0.finish(isCancelled: isCancelled, &left) }
    if let reader { resume(reader, nil) }
    left.discardAll()
  }
}

/// Whoever waits for the next element of a sequence.
protocol SequenceReader: AnyObject, Sendable {}

/// The state of one reader's buffer; it decides, the buffer acts.
struct SequenceState: ~Copyable {
  private enum Stage {
    case filling
    case waiting(any SequenceReader)
    case finished
  }

  /// Thrown where there is nothing to take.
  struct IsEmpty: Error {}

  private var queue = RecordBuffer(least: 256)
  private var stage = Stage.filling
  private let buffering: Buffering

  init(_ buffering: Buffering) {
    buffering.checkCapacity()
    self.buffering = buffering
  }

  var count: Int { queue.count }

  enum AppendAction: Sendable {
    case keep
    /// There was no room for it, or for an older one that has left in exchange.
    case drop
    /// It is for the reader that waits.
    case resume(any SequenceReader)
    case ignore
  }
  /// - Parameter element: The element; afterwards what is not kept, for the caller to release.
  mutating func append<Element>(_ element: inout Element) -> AppendAction {
    switch stage {
    case .waiting(let reader):
      stage = .filling
      return .resume(reader)
    case .finished:
      return .ignore
    case .filling:
      switch buffering.admission(beside: queue.count) {
      case .refused: return .drop
      case .inExchange:
        var envelope = Envelope()
        queue.exchangeFirst(&envelope, &element)
        return .drop
      case .free:
        queue.append(Envelope(), element)
        return .keep
      }
    }
  }

  /// Takes out the oldest element.
  mutating func take<Element>() throws(IsEmpty) -> Element {
    if queue.isEmpty { throw IsEmpty() }
    return queue.takeFirst()
  }

  enum WaitAction: Sendable {
    case wait
    /// Something has come meanwhile.
    case take
    case end
  }
  mutating func wait(_ reader: any SequenceReader) -> WaitAction {
    if !queue.isEmpty { return .take }
    switch stage {
    case .filling:
      stage = .waiting(reader)
      return .wait
    case .finished:
      return .end
    case .waiting:
      preconditionFailure("Two tasks asked one iterator for its next element at a time")
    }
  }

  /// - Parameters:
  ///   - isCancelled: Whether the reader has gone, so that nothing will be taken any more.
  ///   - left: Set to what had gathered then, for the caller to release.
  /// - Returns: The reader that is to hear of the end.
  mutating func finish(
    isCancelled: Bool, _ left: inout RecordBuffer
  ) -> (any SequenceReader)? {
    if isCancelled { swap(&queue, &left) }
    defer { stage = .finished }
    if case .waiting(let reader) = stage { return reader }
    return nil
  }
}
