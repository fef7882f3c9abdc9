#if NATS
  import Campanile
  import NIOCore
  import NIOPosix
  import NIOSSL

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Reads the frames of a server, and delivers them each time the socket has been read.
  ///
  /// It also begins TLS where the server asks for it: right after the first line, before anything
  /// else is read or written.
  final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let processor = NIOSingleStepByteToMessageProcessor(ServerParser())
    private var frames: [ServerFrame] = []
    private var isGreeted = false
    private let address: ServerAddress
    private let tls: TLSOptions
    private let certificateName: String?
    /// Called with the reason why the connection ends, as a sentence.
    private let fail: @Sendable (String) -> Void
    private let deliver: @Sendable ([ServerFrame], Int) -> Void
    private var byteCount = 0

    init(
      _ address: ServerAddress, _ tls: TLSOptions, certificateName: String?,
      fail: @escaping @Sendable (String) -> Void,
      deliver: @escaping @Sendable ([ServerFrame], Int) -> Void
    ) {
      self.address = address
      self.tls = tls
      self.certificateName = certificateName
      self.fail = fail
      self.deliver = deliver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = unwrapInboundIn(data)
      byteCount += bytes.readableBytes
      do {
        try processor.process(buffer: bytes) { frames.append($0) }
        if !isGreeted, let first = frames.first {
          isGreeted = true
          try greeted(first, context)
        }
      } catch {
        errorCaught(context: context, error: error)
      }
    }

    /// The server has said what it is.
    private func greeted(_ first: ServerFrame, _ context: ChannelHandlerContext) throws {
      guard case .info(let info) = first else {
        throw ProtocolError("It doesn't begin with INFO, so that it is no server of NATS.")
      }
      if tls.isFirst { return }
      let wants = tls.isRequired || address.isSecure
      if !info.requiresTLS && !wants { return }
      guard info.requiresTLS || info.offersTLS else {
        throw ProtocolError("It doesn't offer TLS, which its address or an option asks for.")
      }
      // A third party could have added bytes that now arrive unencrypted.
      guard frames.count == 1, processor.unprocessedBytes == 0 else {
        throw ProtocolError("It says more in clear than the line after which TLS begins.")
      }
      try context.pipeline.syncOperations.addHandler(
        try tls.makeHandler(certificateName), position: .first)
      // The new handler keeps the end of this reading for itself.
      deliverFrames()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      deliverFrames()
      context.fireChannelReadComplete()
    }

    /// Delivers what has been read, which may be a part of a frame.
    private func deliverFrames() {
      if byteCount == 0 { return }
      deliver(frames, byteCount)
      byteCount = 0
      frames.removeAll(keepingCapacity: true)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // A server that is killed often ends without a closing frame.
      if case NIOSSLError.uncleanShutdown = error {
      } else {
        fail(Self.sentence(error, tls, certificateName ?? address.host))
      }
      context.close(promise: nil)
    }

    /// - Parameter name: The name that the server's certificate must have.
    static func sentence(_ error: any Error, _ tls: TLSOptions, _ name: String) -> String {
      switch error {
      case let error as NIOConnectionError:
        if let dns = error.dnsAError ?? error.dnsAAAAError, error.connectionErrors.isEmpty {
          let reason = (dns as? SocketAddressError.UnknownHost)?.errorDescription ?? "\(dns)"
          return "The name \(error.host) can't be looked up: \(reason)."
        }
        return error.connectionErrors.first.map { sentence($0.error, tls, name) }
          ?? "There is no connection."
      case let error as IOError where error.errnoCode == ECONNREFUSED:
        return "The connection is refused: nobody listens there."
      case let error as IOError: return "The connection has failed: \(text(error))."
      case ChannelError.connectTimeout: return "It doesn't answer."
      default: return tls.sentence(error, name) ?? "\(error)"
      }
    }

    /// The system's words for an error, without the call that failed.
    private static func text(_ error: IOError) -> Substring {
      let text = error.description
      let end = text.ranges(of: " (errno").last?.lowerBound ?? text.endIndex
      return text[(text[..<end].ranges(of: ": ").last?.upperBound ?? text.startIndex)..<end]
    }
  }
#endif
