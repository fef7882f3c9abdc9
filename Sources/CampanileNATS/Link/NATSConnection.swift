#if NATS
  import Campanile
  import NIOCore
  import NIOPosix

  /// A connection with one server.
  final class NATSConnection: Sendable {
    enum Event: Sendable {
      case connected(NATSConnection)
      /// Frames that arrived; the code that takes them reports that to the backlog.
      case frames([ServerFrame], byteCount: Int, Backlog)
      /// It has ended, or there is none; the reason is a sentence.
      case closed(String?)
    }

    private let channel: any Channel
    private let backlog: Backlog

    init(_ channel: any Channel, _ backlog: Backlog = Backlog()) {
      (self.channel, self.backlog) = (channel, backlog)
    }

    /// The bytes that were read and not taken, or sent and not written; they decide whether to read on.
    ///
    /// A server that reads nothing, and sends what is to be answered, is not read either. So it is
    /// silent, and is left.
    final class Backlog: Sendable {
      private struct State {
        var byteCount = 0
        var unwrittenCount = 0
        var isWanted = true
        var channel: (any Channel)?

        var reads: Bool {
          isWanted && byteCount <= Backlog.limit && unwrittenCount <= Backlog.unwrittenLimit
        }
      }

      private let state = Locked(State())
      /// The second is more than all posts that are sent without being confirmed.
      private static let (limit, unwrittenLimit) = (4 << 20, 16 << 20)
      /// The memory that waiting bytes take in addition.
      private static let overhead = 256

      /// Whether more is to be read.
      var reads: Bool { state.withLock { $0.reads } }

      /// Begins to read.
      func start(_ channel: any Channel) {
        state.withLock { $0.channel = channel }
        apply(on: channel)
      }

      func arrived(_ byteCount: Int) { change { $0.byteCount += byteCount } }

      func taken(_ byteCount: Int) { change { $0.byteCount -= byteCount } }

      func sent(_ byteCount: Int) { change { $0.unwrittenCount += byteCount + Self.overhead } }

      func written(_ byteCount: Int) { change { $0.unwrittenCount -= byteCount + Self.overhead } }

      /// Sets whether anything more is wanted.
      func set(_ isWanted: Bool) { change { $0.isWanted = isWanted } }

      func end() { state.withLock { $0.channel = nil } }

      private func change(_ body: (inout State) -> Void) {
        let channel = state.withLock { state in
          let before = state.reads
          body(&state)
          return state.reads != before ? state.channel : nil
        }
        if let channel { apply(on: channel) }
      }

      /// Later, on the event loop, so that the last state is applied last.
      private func apply(on channel: any Channel) {
        channel.eventLoop.execute { [self] in
          channel.setOption(.autoRead, value: reads).whenComplete { _ in }
        }
      }
    }

    /// - Parameter handle: Called on the event loop, in order; at last with the end.
    static func connect(
      to address: ServerAddress, _ configuration: NATSConfiguration, certificateName: String?,
      _ handle: @escaping @Sendable (Event) -> Void
    ) {
      let (backlog, tls) = (Backlog(), configuration.tls)
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
                  backlog.arrived(byteCount)
                  handle(.frames(frames, byteCount: byteCount, backlog))
                }))
          }
        }
      bootstrap.connect(host: address.host, port: address.port).whenComplete { result in
        switch result {
        case .success(let channel):
          handle(.connected(NATSConnection(channel, backlog)))
          channel.closeFuture.whenComplete { _ in
            backlog.end()
            handle(.closed(reason.withLock { $0 }))
          }
          backlog.start(channel)
        case .failure(let error):
          let name = certificateName ?? address.host
          handle(.closed(FrameHandler.sentence(error, tls, name)))
        }
      }
    }

    func send(_ bytes: ByteBuffer) {
      let byteCount = bytes.readableBytes
      backlog.sent(byteCount)
      channel.writeAndFlush(bytes).whenComplete { [backlog] _ in backlog.written(byteCount) }
    }

    func setReading(_ reads: Bool) { backlog.set(reads) }

    func close() { channel.close(promise: nil) }

    /// Closes once something has been written, or after some seconds: a server that has been stopped
    /// reads nothing.
    func close(after bytes: ByteBuffer) {
      channel.writeAndFlush(bytes).whenComplete { [channel] _ in channel.close(promise: nil) }
      let limit = channel.eventLoop.scheduleTask(in: .seconds(5)) { [channel] in
        channel.close(promise: nil)
      }
      channel.closeFuture.whenComplete { _ in limit.cancel() }
    }
  }
#endif
