/// How many values a task takes before it lets others have the thread.
let valuesBetweenYields = 64

/// The values of a source as an asynchronous sequence.
///
/// Every iterator has its own buffer. The first iterator takes over the buffer that has been
/// filling since the sequence was made; each further iterator receives the values that are sent
/// after it was made.
///
/// Releasing the sequence and its iterators ends the observation. A canceled task reads no further
/// value, not even one that is stored already.
public struct ValueSequence<Element: Sendable>: AsyncSequence, Sendable {
  /// A sequence of values never fails.
  public typealias Failure = Never
  /// The iterator that reads the sequence.
  public typealias AsyncIterator = Iterator

  private let subscribe: @Sendable (DeliveryCounters) -> Reader
  private let first: Locked<Reader?>.Box
  private let counters = DeliveryCounters()
  /// The registration of the first reader, with its waiting and dropped counts; `nil` if the source
  /// was already released when the sequence was made.
  public let registration: Registration?

  init(_ subscribe: @escaping @Sendable (DeliveryCounters) -> Reader) {
    self.subscribe = subscribe
    let reader = subscribe(DeliveryCounters(partOf: counters))
    registration = reader.registration
    first = .init(reader)
  }

  /// Creates a reader; the first one takes over the values stored since the sequence was made.
  public func makeAsyncIterator() -> Iterator {
    Iterator(
      reader: first.locked.withLock { $0.take() }
        ?? subscribe(DeliveryCounters(partOf: counters)))
  }

  /// The number of values that the buffers of all readers of this sequence dropped.
  public var droppedCount: Int { counters.droppedCount }

  /// One reader of the sequence, with its own buffer; for one task at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader
    private var count = 0

    fileprivate init(reader: Reader) { self.reader = reader }

    /// The registration of this reader, with its waiting and dropped counts.
    ///
    /// It is `nil` if the source was already released when the reader was made.
    public var registration: Registration? { reader.registration }

    /// The next value, or `nil` when the source has ended or the task is canceled.
    ///
    /// It yields the thread from time to time, even if values are waiting.
    public mutating func next() async -> Element? { await take() }

    /// The next value, or `nil` when the source has ended or the task is canceled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await take()
    }

    @inline(__always)
    private mutating func take() async -> Element? {
      count &+= 1
      if count % valuesBetweenYields == 0 { await Task.yield() }
      if let read = reader.read { return await read(reader) }
      return await reader.buffer.next()
    }
  }

  /// A registration and the buffer it fills; releasing the reader ends both.
  final class Reader: Sendable {
    let buffer: SequenceBuffer
    /// Makes the next element of what is in the buffer; `nil` if the buffer has the elements.
    fileprivate let read: (@Sendable (Reader) async -> Element?)?
    private let token: ObservationToken?
    var registration: Registration? { token?.registration }

    init(
      _ buffer: SequenceBuffer, _ registration: Registration?,
      _ read: (@Sendable (Reader) async -> Element?)? = nil
    ) {
      self.buffer = buffer
      self.read = read
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
