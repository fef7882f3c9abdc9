/// What waits for one reader, or the reader that waits.
final class SequenceBuffer<Element: Sendable>: Sendable {
  /// The state of one reader's buffer; it decides, the buffer acts.
  struct StateMachine {
    private enum State {
      case filling
      case waiting(CheckedContinuation<Element?, Never>)
      case finished
    }

    private var queue: BoundedQueue<Element>
    private var state = State.filling

    init(_ buffering: Buffering) { queue = BoundedQueue(buffering) }

    enum AppendAction {
      case resume(CheckedContinuation<Element?, Never>)
      case drop(Element?)
    }
    mutating func append(_ element: Element) -> AppendAction {
      switch state {
      case .waiting(let continuation):
        state = .filling
        return .resume(continuation)
      case .filling: return .drop(queue.append(element))
      case .finished: return .drop(nil)
      }
    }

    var count: Int { queue.count }

    /// What has gathered, first in first out.
    mutating func take() -> Element? { queue.popFirst() }

    enum NextAction {
      case resume(Element?)
      case wait
    }
    mutating func next(_ continuation: CheckedContinuation<Element?, Never>) -> NextAction {
      if let element = take() { return .resume(element) }
      switch state {
      case .filling:
        state = .waiting(continuation)
        return .wait
      case .finished:
        return .resume(nil)
      case .waiting:
        preconditionFailure("Two tasks asked one iterator for its next element at a time")
      }
    }

    /// - Parameter isCancelled: whether the reader has gone, so that nothing will be taken any
    ///   more.
    mutating func finish(isCancelled: Bool) -> (CheckedContinuation<Element?, Never>?, [Element]) {
      let left = isCancelled ? queue.removeAll() : []
      defer { state = .finished }
      if case .waiting(let continuation) = state { return (continuation, left) }
      return (nil, left)
    }
  }

  private let state: Locked<StateMachine>
  private let counters: DeliveryCounters

  init(_ buffering: Buffering, _ counters: DeliveryCounters) {
    state = Locked(StateMachine(buffering))
    self.counters = counters
  }

  /// What can be asked of the registration that fills the buffer, which keeps it.
  var counts: BufferCounts {
    BufferCounts(counters: counters) { [self] in state.withLock { $0.count } }
  }

  func append(_ element: Element) {
    switch state.withLock({ $0.append(element) }) {
    case .resume(let continuation): continuation.resume(returning: element)
    case .drop(let dropped):
      // Released here, outside the lock.
      if dropped != nil { counters.countDrop() }
    }
  }

  /// The next element, or `nil` at the end, at once in a canceled task.
  func next() async -> Element? {
    if Task.isCancelled {
      finish(isCancelled: true)
      return nil
    }
    // What is there is read without a continuation, which would be an allocation.
    if let element = state.withLock({ $0.take() }) { return element }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        switch state.withLock({ $0.next(continuation) }) {
        case .resume(let element): continuation.resume(returning: element)
        case .wait: break
        }
      }
    } onCancel: {
      finish(isCancelled: true)
    }
  }

  /// Ends the sequence: what has gathered is still read, unless the reader's task was canceled.
  func finish(isCancelled: Bool = false) {
    let (continuation, left) = state.withLock { $0.finish(isCancelled: isCancelled) }
    continuation?.resume(returning: nil)
    withExtendedLifetime(left) {}
  }
}
