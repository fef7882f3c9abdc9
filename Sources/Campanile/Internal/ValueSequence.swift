/// How many values a task takes before it lets others have the thread.
let valuesBetweenYields = 64

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
  /// The registration of the first reader, which tells what waits for it and what was dropped.
  ///
  /// It is `nil` if the source had gone when the sequence was made.
  public let registration: Registration?

  init(_ subscribe: @escaping @Sendable (DeliveryCounters) -> Reader) {
    self.subscribe = subscribe
    let reader = subscribe(DeliveryCounters(partOf: counters))
    registration = reader.registration
    first = .init(reader)
  }

  /// Begins to read; the first reader takes over what has gathered since the sequence was made.
  public func makeAsyncIterator() -> Iterator {
    Iterator(
      reader: first.locked.withLock { $0.take() }
        ?? subscribe(DeliveryCounters(partOf: counters)))
  }

  /// How many values the buffers of all readers of this sequence had no room for.
  public var droppedCount: Int { counters.droppedCount }

  /// One reader of the sequence, with a buffer of its own; not for two tasks at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader
    private var count = 0

    fileprivate init(reader: Reader) { self.reader = reader }

    /// The registration of this reader, which tells what waits for it and what was dropped.
    ///
    /// It is `nil` if the source had gone when the reader was made.
    public var registration: Registration? { reader.registration }

    /// The next value, or `nil` when the source has ended or the task is canceled.
    ///
    /// Now and then it lets others have the thread, also if values are waiting.
    public mutating func next() async -> Element? {
      if mustYield() { await Task.yield() }
      return await reader.buffer.next()
    }

    /// The next value, or `nil` when the source has ended or the task is canceled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      if mustYield() { await Task.yield() }
      return await reader.buffer.next()
    }

    /// Whether so many values have been read that others are to have the thread.
    private mutating func mustYield() -> Bool {
      count &+= 1
      return count % valuesBetweenYields == 0
    }
  }

  /// A registration and the buffer it fills; releasing the reader ends both.
  final class Reader: Sendable {
    fileprivate let buffer: SequenceBuffer
    private let token: ObservationToken?
    fileprivate var registration: Registration? { token?.registration }

    init(_ buffer: SequenceBuffer, _ registration: Registration?) {
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
