#if NATS
  import NIOCore
  import NIOPosix

  /// A connection with one server.
  final class NATSConnection: Sendable {
    enum Event: Sendable {
      case connected(NATSConnection)
      /// Frames that arrived, and their number of bytes.
      case frames([ServerFrame], Int)
      /// It has ended, or there is none; the reason is a sentence.
      case closed(String?)
    }

    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    /// - Parameter handle: Called on the event loop, in order; at last with the end.
    static func connect(
      to address: ServerAddress, _ configuration: NATSConfiguration, certificateName: String?,
      _ handle: @escaping @Sendable (Event) -> Void
    ) {
      let (reason, tls) = (EndReason(), configuration.tls)
      let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(Int64(configuration.connectTimeout)))
        .channelOption(.socketOption(.tcp_nodelay), value: 1)
        .channelOption(
          .recvAllocator,
          value: AdaptiveRecvByteBufferAllocator(
            minimum: 4_096, initial: 65_536, maximum: 1 << 20)
        )
        // Nothing is read before the connection is known to whoever asked for it.
        .channelOption(.autoRead, value: false)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if tls.isFirst { try pipeline.addHandler(try tls.makeHandler(certificateName)) }
            try pipeline.addHandler(
              FrameHandler(
                address, tls, certificateName: certificateName, reason: reason,
                deliver: { handle(.frames($0, $1)) }))
          }
        }
      bootstrap.connect(host: address.host, port: address.port).whenComplete { result in
        switch result {
        case .success(let channel):
          handle(.connected(NATSConnection(channel)))
          channel.closeFuture.whenComplete { _ in handle(.closed(reason.sentence)) }
          channel.setOption(.autoRead, value: true).whenComplete { _ in }
        case .failure(let error): handle(.closed(FrameHandler.sentence(error)))
        }
      }
    }

    func send(_ bytes: ByteBuffer) { channel.writeAndFlush(bytes, promise: nil) }

    func setReading(_ reads: Bool) {
      channel.setOption(.autoRead, value: reads).whenComplete { _ in }
    }

    func close() { channel.close(promise: nil) }

    /// Closes once something has been written.
    func close(after bytes: ByteBuffer) {
      channel.writeAndFlush(bytes).whenComplete { [channel] _ in channel.close(promise: nil) }
    }
  }
#endif
