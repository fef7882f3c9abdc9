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
