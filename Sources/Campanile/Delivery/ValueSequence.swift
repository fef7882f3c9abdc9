/// How many values a task takes before it lets others have the thread.
let valuesBetweenYields = 64

/// The values of a source as an asynchronous sequence.
///
/// It has one buffer, from which all of its iterators read: a second loop continues where the first
/// one ended. Two tasks that wait for its next value at once are a precondition failure.
///
/// Releasing the sequence and its iterators ends the observation. A canceled task reads no further
/// value, not even one that is stored already, and ends the sequence.
public struct ValueSequence<Element: Sendable>: AsyncSequence, Sendable {
  private let reader: Reader

  init(_ reader: Reader) { self.reader = reader }

  /// Creates an iterator of the values that have not been read.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

  /// The registration of the sequence, with its waiting and dropped counts.
  public var registration: Registration { reader.registration }

  /// Reads the sequence, for one task at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let reader: Reader
    private var count = 0

    fileprivate init(reader: Reader) { self.reader = reader }

    /// The next value, or `nil` when the source has ended or the task is canceled.
    ///
    /// It yields the thread from time to time, even if values are waiting.
    public mutating func next() async -> Element? { await next(isolation: #isolation) }

    /// The next value, or `nil` when the source has ended or the task is canceled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
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
    private let token: ObservationToken
    var registration: Registration { token.registration }

    init(
      _ buffer: SequenceBuffer, _ registration: Registration,
      _ read: (@Sendable (Reader) async -> Element?)? = nil
    ) {
      self.buffer = buffer
      self.read = read
      token = ObservationToken(registration)
    }
  }
}
