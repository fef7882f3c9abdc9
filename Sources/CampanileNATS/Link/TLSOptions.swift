#if NATS
  import NIOSSL
#endif

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
}

#if NATS
  extension TLSOptions {
    /// - Parameter name: The name that the certificate must have; by default the name of the
    ///   address.
    func makeHandler(_ name: String?) throws -> NIOSSLClientHandler {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      if !verifies { configuration.certificateVerification = .none }
      if let trusted {
        configuration.trustRoots = .certificates(
          try Self.read("certificates", trusted) { try NIOSSLCertificate.fromPEMFile($0) })
      }
      if let certificate, let key {
        configuration.certificateChain = try Self.read("certificates", certificate) {
          try NIOSSLCertificate.fromPEMFile($0).map { .certificate($0) }
        }
        configuration.privateKey = .privateKey(
          try Self.read("a private key", key) { try NIOSSLPrivateKey(file: $0, format: .pem) })
      }
      return try NIOSSLClientHandler(
        context: NIOSSLContext(configuration: configuration), serverHostname: name)
    }

    private static func read<Content>(
      _ content: String, _ path: String, _ body: (String) throws -> Content
    ) throws(ProtocolError) -> Content {
      do {
        return try body(path)
      } catch {
        throw ProtocolError("TLS failed: \(path) can't be read as a PEM file with \(content).")
      }
    }

    /// A failure of TLS as a sentence; `nil` for other errors.
    ///
    /// - Parameter name: The name that the server's certificate must have.
    func sentence(_ error: any Error, _ name: String) -> String? {
      switch error {
      case NIOSSLError.handshakeFailed(let error): return sentence(error, name)
      case let error as NIOSSLExtraError
      where [.failedToValidateHostname, .serverHostnameImpossibleToMatch].contains(error):
        return "TLS failed: the server's certificate is not for \(name)."
      // Both files have been read.
      case NIOSSLError.failedToLoadPrivateKey:
        return "TLS failed: the key in \(key ?? "") is not that of the certificate in "
          + "\(certificate ?? "")."
      case BoringSSLError.sslError(let stack), BoringSSLError.unknownError(let stack):
        let words = stack.map { Self.words("\($0)") }
        if words.contains("certificate verify failed") {
          return "TLS failed: the server's certificate is not valid now, or "
            + (trusted.map { "no certificate in \($0) has signed it." }
              ?? "none that the system trusts has signed it.")
        }
        return "TLS failed: \(words.joined(separator: ", "))."
      case is BoringSSLError, is NIOSSLError, is NIOSSLExtraError: return "TLS failed: \(error)."
      default: return nil
      }
    }

    /// The sentence of an error of the library, without its number, and without the file and line in the
    /// library's source.
    ///
    /// `Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …`
    private static func words(_ text: String) -> String {
      let text = text[..<(text.firstRange(of: " at ")?.lowerBound ?? text.endIndex)]
      let word = text.split(separator: ":").last ?? text
      return word.lowercased().split(separator: "_").joined(separator: " ")
    }
  }
#endif
