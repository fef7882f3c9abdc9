#if NATS
  import Campanile
  import NIOCore
  import NIOPosix

  /// A connection with one server.
  ///
  /// The bytes that were read and not taken, or sent and not written, decide whether to read on. A server
  /// that reads nothing, and sends what is to be answered, is not read either. So it is silent, and is
  /// left.
  final class NATSConnection: Sendable {
    enum Event: Sendable {
      case connected(NATSConnection)
      /// Frames that arrived; the code that takes them reports that to the connection.
      case frames([ServerFrame], byteCount: Int, NATSConnection)
      /// It has ended, or there is none; the reason is a sentence.
      case closed(String?)
    }

    private struct State {
      var byteCount = 0
      var unwrittenCount = 0
      var isWanted = true
      /// Nothing before there is a connection, and after its end.
      var channel: (any Channel)?

      var reads: Bool {
        isWanted && byteCount <= NATSConnection.limit
          && unwrittenCount <= NATSConnection.unwrittenLimit
      }
    }

    private let state: Locked<State>
    /// The second is more than all posts that are sent without being confirmed.
    private static let (limit, unwrittenLimit) = (4 << 20, 16 << 20)
    /// The memory that waiting bytes take in addition.
    private static let overhead = 256

    init(_ channel: (any Channel)? = nil) { state = Locked(State(channel: channel)) }

    /// Whether more is to be read.
    var reads: Bool { state.withLock { $0.reads } }

    private var channel: (any Channel)? { state.withLock { $0.channel } }

    func arrived(_ byteCount: Int) { change { $0.byteCount += byteCount } }

    func taken(_ byteCount: Int) { change { $0.byteCount -= byteCount } }

    func sent(_ byteCount: Int) { change { $0.unwrittenCount += byteCount + Self.overhead } }

    func written(_ byteCount: Int) { change { $0.unwrittenCount -= byteCount + Self.overhead } }

    /// Sets whether anything more is wanted.
    func setReading(_ reads: Bool) { change { $0.isWanted = reads } }

    private func change(_ body: (inout State) -> Void) {
      let channel = state.withLock { state in
        let before = state.reads
        body(&state)
        return state.reads != before ? state.channel : nil
      }
      if let channel { startReading(channel) }
    }

    /// Reads, or ceases to, later on the event loop, so that the last state is applied last.
    private func startReading(_ channel: any Channel) {
      channel.eventLoop.execute { [self] in
        channel.setOption(.autoRead, value: reads).whenComplete { _ in }
      }
    }

    /// - Parameter handle: Called on the event loop, in order; at last with the end.
    static func connect(
      to address: ServerAddress, _ configuration: NATSConfiguration, certificateName: String?,
      _ handle: @escaping @Sendable (Event) -> Void
    ) {
      let (connection, tls) = (NATSConnection(), configuration.tls)
      // The first one counts.
      let reason = Locked<String?>(nil)
      let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(Int64(configuration.connectTimeout)))
        .channelOption(.socketOption(.tcp_nodelay), value: 1)
        .channelOption(
          .recvAllocator,
          value: AdaptiveRecvByteBufferAllocator(
            minimum: 4_096, initial: 65_536, maximum: 1 << 20)
        )
        // Nothing is read before the code that asked for the connection knows it.
        .channelOption(.autoRead, value: false)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if tls.isFirst { try pipeline.addHandler(try tls.makeHandler(certificateName)) }
            try pipeline.addHandler(
              FrameHandler(
                address, tls, certificateName: certificateName,
                fail: { sentence in reason.withLock { $0 = $0 ?? sentence } },
                deliver: { frames, byteCount in
                  connection.arrived(byteCount)
                  handle(.frames(frames, byteCount: byteCount, connection))
                }))
          }
        }
      bootstrap.connect(host: address.host, port: address.port).whenComplete { result in
        switch result {
        case .success(let channel):
          connection.state.withLock { $0.channel = channel }
          handle(.connected(connection))
          channel.closeFuture.whenComplete { _ in
            connection.state.withLock { $0.channel = nil }
            handle(.closed(reason.withLock { $0 }))
          }
          connection.startReading(channel)
        case .failure(let error):
          let name = certificateName ?? address.host
          handle(.closed(FrameHandler.sentence(error, tls, name)))
        }
      }
    }

    func send(_ bytes: ByteBuffer) {
      guard let channel else { return }
      let byteCount = bytes.readableBytes
      sent(byteCount)
      channel.writeAndFlush(bytes).whenComplete { _ in self.written(byteCount) }
    }

    func close() { channel?.close(promise: nil) }

    /// Closes once something has been written, or after some seconds: a server that has been stopped
    /// reads nothing.
    func close(after bytes: ByteBuffer) {
      guard let channel else { return }
      channel.writeAndFlush(bytes).whenComplete { _ in channel.close(promise: nil) }
      let limit = channel.eventLoop.scheduleTask(in: .seconds(5)) { channel.close(promise: nil) }
      channel.closeFuture.whenComplete { _ in limit.cancel() }
    }
  }
#endif
