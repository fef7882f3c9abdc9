import Campanile
import Dispatch

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

/// Bytes to and from the other end of a connection.
///
/// Used on one serial queue, where its events are handled. Only `beat(_:)`, `shutDown()` and `close()`
/// may be called on any.
final class SocketChannel: Sendable {
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

  /// Reads and returns what has arrived, without events, even if reading is paused.
  ///
  /// Call it before `close()`, when the other end is dead or writes nothing more.
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

  /// Adds bytes to what is to be written.
  func send(_ bytes: [UInt8]) {
    state.withLock { if !$0.isClosed { $0.output += bytes } }
  }

  /// Writes as much as can be written now, and the rest later.
  ///
  /// - Returns: How many bytes have not been written.
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

  /// Ends the connection; there are no events from then on.
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
