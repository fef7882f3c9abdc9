#if NATS
  import NIOSSL

  /// How connections are encrypted.
  struct TLSOptions: Hashable, Sendable {
    /// Whether TLS begins before the server sends anything.
    var isFirst = false
    /// Whether a server without TLS is refused.
    var isRequired = false
    /// Whether certificates of servers are verified.
    var verifies = true
    /// A file with the certificates to trust, instead of those of the system.
    var trusted: String?
    /// Files with the client's own certificates and their key.
    var certificate: String?
    var key: String?

    /// - Parameter name: The name that the certificate must have; by default the name of the
    ///   address.
    func makeHandler(_ name: String?) throws -> NIOSSLClientHandler {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      if !verifies { configuration.certificateVerification = .none }
      if let trusted { configuration.trustRoots = .file(trusted) }
      if let certificate, let key {
        configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate)
          .map { .certificate($0) }
        configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
      }
      return try NIOSSLClientHandler(
        context: NIOSSLContext(configuration: configuration), serverHostname: name)
    }
  }
#endif
