import Campanile
import Dispatch

/// Bytes to and from the other end of a connection.
///
/// Used on one serial queue, where its events are handled. Only `SocketChannel.beat(_:)` and
/// `SocketChannel.shutDown()` may be called on any.
protocol Channel: AnyObject, Sendable {
  /// Adds bytes to what is to be written.
  func send(_ bytes: [UInt8])
  /// Writes as much as can be written now, and the rest later.
  ///
  /// - Returns: How many bytes have not been written.
  @discardableResult func flush() -> Int
  func setReading(_ reads: Bool)
  /// Reads and returns what has arrived, without events, even if reading is paused.
  ///
  /// Call it before `close()`, when the other end is dead or writes nothing more.
  func readRest() -> [[UInt8]]
  /// Ends the connection; there are no events from then on.
  func close()
}

/// The events of a channel.
enum ChannelEvent: Sendable {
  case read(ArraySlice<UInt8>)
  /// All bytes that were read together have been reported.
  case readEnd
  /// More has been written; so many bytes have not.
  case written(Int)
  /// The other end has closed, or is gone.
  case closed
}

/// A channel over a socket.
final class SocketChannel: Channel {
  fileprivate struct State {
    let reads: any DispatchSourceProtocol
    let writes: any DispatchSourceProtocol
    var output: [UInt8] = []
    var written = 0
    var isReading = true
    var isWriting = false
    var isClosed = false
  }

  private let state: Locked<State>
  private let socket: UnixSocket
  private let queue: DispatchQueue
  private let handle: @Sendable (ChannelEvent) -> Void

  /// How many bytes are read at a time, and how often before others have their turn.
  private static let (chunk, turns) = (1 << 17, 8)
  /// How often at most the rest is read.
  private static let restLimit = 128

  init(
    _ socket: consuming UnixSocket, on queue: DispatchQueue,
    _ handle: @escaping @Sendable (ChannelEvent) -> Void
  ) {
    let state = State(
      reads: socket.makeSource(of: .readable, on: queue),
      writes: socket.makeSource(of: .writable, on: queue))
    self.socket = socket
    self.queue = queue
    self.handle = handle
    self.state = Locked(state)
    // The sources keep the channel, and with it the socket, until they are canceled.
    self.state.withLock { state in
      state.reads.setEventHandler { self.read() }
      state.writes.setEventHandler { self.writeMore() }
      state.reads.setCancelHandler { withExtendedLifetime(self) {} }
      state.writes.setCancelHandler { withExtendedLifetime(self) {} }
      state.reads.activate()
    }
  }

  // MARK: Reading

  private func read() {
    for _ in 0..<Self.turns {
      if state.withLock({ $0.isClosed || !$0.isReading }) { return }
      let (transfer, bytes) = socket.read(atMost: Self.chunk)
      switch transfer {
      case .bytes:
        handle(.read(bytes[...]))
        handle(.readEnd)
      case .none: return
      case .end: return end()
      }
      if bytes.count < Self.chunk { return }
    }
  }

  private func end() {
    if state.withLock({ !$0.isClosed }) { handle(.closed) }
  }

  func setReading(_ reads: Bool) {
    state.withLock { state in
      if state.isReading == reads || state.isClosed { return }
      state.isReading = reads
      if reads { state.reads.resume() } else { state.reads.suspend() }
    }
  }

  func readRest() -> [[UInt8]] {
    if state.withLock({ $0.isClosed }) { return [] }
    var rest: [[UInt8]] = []
    // The other end may write more, although it should not.
    while rest.count < Self.restLimit {
      let (transfer, bytes) = socket.read(atMost: Self.chunk)
      guard case .bytes = transfer else { break }
      rest.append(bytes)
    }
    return rest
  }

  // MARK: Writing

  func send(_ bytes: [UInt8]) {
    state.withLock { if !$0.isClosed { $0.output += bytes } }
  }

  @discardableResult
  func flush() -> Int {
    state.withLock { state in
      if state.isClosed { return 0 }
      // While the socket is full, it says when it takes more.
      if !state.isWriting { write(&state) }
      return state.output.count - state.written
    }
  }

  /// Writes what waits, and then some bytes if nothing waits any more; on any queue.
  ///
  /// The queue of the channel learns later how much has been written.
  func beat(_ bytes: [UInt8]) {
    state.withLock { state in
      if state.isClosed { return }
      var isFull = transfer(&state)
      if state.output.isEmpty && !isFull {
        state.output = bytes
        isFull = transfer(&state)
      }
      // If the source was waiting, it continues, and reports to the hub that there is room.
      if isFull && !state.isWriting {
        state.isWriting = true
        state.writes.resume()
      }
    }
  }

  private func writeMore() {
    let rest = state.withLock { state -> Int in
      if state.isClosed { return 0 }
      write(&state)
      return state.output.count - state.written
    }
    handle(.written(rest))
  }

  private func write(_ state: inout State) {
    let isFull = transfer(&state)
    if isFull != state.isWriting {
      state.isWriting = isFull
      if isFull { state.writes.resume() } else { state.writes.suspend() }
    }
  }

  /// - Returns: Whether the socket takes no more.
  private func transfer(_ state: inout State) -> Bool {
    var isFull = false
    while state.written < state.output.count, !isFull {
      switch socket.write(state.output[state.written...]) {
      case .bytes(let count): state.written += count
      case .none: isFull = true
      case .end:
        // Bytes that arrived before the end are read first.
        if state.isReading { socket.shutDown() } else { queue.async { self.end() } }
        (state.output, state.written) = ([], 0)
        isFull = false
      }
    }
    if state.written == state.output.count {
      state.output.removeAll(keepingCapacity: state.output.count < 1 << 20)
      state.written = 0
    } else if state.written > 1 << 20 {
      state.output.removeFirst(state.written)
      state.written = 0
    }
    return isFull
  }

  // MARK: Closing

  /// Ends the connection for both ends, each of which handles that on its queue; on any queue.
  func shutDown() { state.withLock { if !$0.isClosed { socket.shutDown() } } }

  func close() {
    state.withLock { state in
      if state.isClosed { return }
      state.isClosed = true
      state.output = []
      // A source that is suspended cannot be canceled for good.
      if !state.isReading { state.reads.resume() }
      if !state.isWriting { state.writes.resume() }
      state.reads.cancel()
      state.writes.cancel()
    }
  }
}

/// One end of a channel inside the process.
final class MemoryChannel: Channel {
  fileprivate struct State {
    weak var other: MemoryChannel?
    /// The bytes that were sent and not flushed.
    var output: [UInt8] = []
    /// The bytes that the other end has sent.
    var input: [[UInt8]] = []
    /// How much the other end has not handled.
    var unwritten = 0
    var isReading = true
    var isScheduled = false
    var isClosed = false
  }

  private let state = Locked(State())
  private let queue: DispatchQueue
  private let handle: @Sendable (ChannelEvent) -> Void

  private init(on queue: DispatchQueue, _ handle: @escaping @Sendable (ChannelEvent) -> Void) {
    self.queue = queue
    self.handle = handle
  }

  /// Makes both ends, each with its queue and what handles its events.
  static func pair(
    _ first: (DispatchQueue, @Sendable (ChannelEvent) -> Void),
    _ second: (DispatchQueue, @Sendable (ChannelEvent) -> Void)
  ) -> (MemoryChannel, MemoryChannel) {
    let ends = (
      MemoryChannel(on: first.0, first.1), MemoryChannel(on: second.0, second.1)
    )
    ends.0.state.withLock { $0.other = ends.1 }
    ends.1.state.withLock { $0.other = ends.0 }
    return ends
  }

  func send(_ bytes: [UInt8]) { state.withLock { $0.output += bytes } }

  @discardableResult
  func flush() -> Int {
    let (bytes, other, unwritten) = state.withLock { state in
      defer { state.output = [] }
      state.unwritten += state.output.count
      return (state.output, state.other, state.unwritten)
    }
    if !bytes.isEmpty { other?.take(bytes) }
    return unwritten
  }

  private func take(_ bytes: [UInt8]) {
    let isFirst = state.withLock { state in
      if state.isClosed { return false }
      state.input.append(bytes)
      return state.schedule()
    }
    if isFirst { queue.async { self.read() } }
  }

  private func read() {
    let (input, other) = state.withLock { state -> ([[UInt8]], MemoryChannel?) in
      state.isScheduled = false
      if state.isClosed || !state.isReading { return ([], nil) }
      defer { state.input = [] }
      return (state.input, state.other)
    }
    if input.isEmpty { return }
    for bytes in input { handle(.read(bytes[...])) }
    handle(.readEnd)
    other?.handled(input.reduce(0) { $0 + $1.count })
  }

  private func handled(_ count: Int) {
    queue.async {
      let rest = self.state.withLock { state -> Int? in
        if state.isClosed { return nil }
        state.unwritten -= count
        return state.unwritten
      }
      if let rest { self.handle(.written(rest)) }
    }
  }

  func setReading(_ reads: Bool) {
    let isFirst = state.withLock { state in
      state.isReading = reads
      return reads && !state.input.isEmpty && state.schedule()
    }
    if isFirst { queue.async { self.read() } }
  }

  func readRest() -> [[UInt8]] {
    state.withLock { state in
      defer { state.input = [] }
      return state.input
    }
  }

  func close() {
    let other = state.withLock { state -> MemoryChannel? in
      if state.isClosed { return nil }
      state.isClosed = true
      state.input = []
      return state.other
    }
    other?.otherClosed()
  }

  private func otherClosed() {
    queue.async {
      let isOver = self.state.withLock { $0.isClosed }
      if !isOver { self.handle(.closed) }
    }
  }
}

extension MemoryChannel.State {
  fileprivate mutating func schedule() -> Bool {
    defer { isScheduled = true }
    return !isScheduled
  }
}
