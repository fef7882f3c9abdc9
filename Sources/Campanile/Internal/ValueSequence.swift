/// The values of a source as an asynchronous sequence.
///
/// Every iterator has a buffer of its own. The first one takes over the buffer that has been
/// filling since the sequence was made; each further one hears what comes after it was made.
///
/// Releasing the sequence and its iterators ends the observation. A task that is canceled reads
/// nothing more, not even what has gathered.
public struct ValueSequence<Element: Sendable>: AsyncSequence, Sendable {
  /// A sequence of values does not fail.
  public typealias Failure = Never
  /// What reads the sequence.
  public typealias AsyncIterator = Iterator

  private let subscribe: @Sendable (DeliveryCounters) -> Reader
  private let first: Locked<Reader?>.Box
  private let counters = DeliveryCounters()

  init(_ subscribe: @escaping @Sendable (DeliveryCounters) -> Reader) {
    self.subscribe = subscribe
    first = .init(subscribe(counters))
  }

  /// Begins to read; the first reader takes over what has gathered since the sequence was made.
  public func makeAsyncIterator() -> Iterator {
    Iterator(reader: first.locked.withLock { $0.take() } ?? subscribe(counters))
  }

  /// How many values the buffers of this sequence's readers had no room for.
  public var droppedCount: Int { counters.droppedCount }

  /// One reader of the sequence, with a buffer of its own; not for two tasks at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader

    /// The next value, or `nil` when the source has ended or the task is canceled.
    public mutating func next() async -> Element? { await reader.buffer.next() }

    /// The next value, or `nil` when the source has ended or the task is canceled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await reader.buffer.next()
    }
  }

  /// A registration and the buffer it fills; releasing the reader ends both.
  final class Reader: Sendable {
    fileprivate let buffer: SequenceBuffer<Element>
    private let token: ObservationToken?

    init(_ buffer: SequenceBuffer<Element>, _ registration: Registration?) {
      self.buffer = buffer
      token = registration.map { ObservationToken($0) }
    }
  }
}

extension Locked {
  /// A lock that is shared by the copies of a value.
  final class Box: Sendable where State: Sendable {
    let locked: Locked<State>
    init(_ state: State) { locked = Locked(state) }
  }
}

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

    enum NextAction {
      case resume(Element?)
      case wait
    }
    mutating func next(_ continuation: CheckedContinuation<Element?, Never>) -> NextAction {
      if let element = queue.popFirst() { return .resume(element) }
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
    await withTaskCancellationHandler {
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
